"""Quota controller: watches quotas, and all objects of namespaces with a quota."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

import msgspec
from lightkube.models.core_v1 import PersistentVolumeClaim, Pod, ResourceQuota, Service

from steersman.client import typed_model
from steersman.client.changes import Added, Deleted, Updated
from steersman.client.errors import NotFound
from steersman.client.objects import key_of, namespace_of
from steersman.controllers.resourcequota.plan import (
    count,
    counted_resources,
    is_written,
    lowers,
    raises,
    seconds_to_overdue_pod,
)
from steersman.controllers.shared.base import ManagedController
from steersman.controllers.shared.metadata_watch import shared
from steersman.runtime.result import Result

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.apimachinery.trees import Tree
    from steersman.client import ResourceType
    from steersman.client.changes import Change
    from steersman.client.informer import Informer
    from steersman.controllers.context import ControllerContext


#: Admission increments before the object is stored: a recent increment may not be in the caches, and is kept.
GRACE_SECONDS: Final = 1.0
_DEVICE_CLAIMS: Final = "resourceclaims.resource.k8s.io"
#: Object events are batched for this time.
_SETTLE_SECONDS: Final = 0.05


class ResourceQuotaController(ManagedController):
    """Reconciles ResourceQuotas."""

    name: ClassVar[str] = "resourcequota-controller"
    queue_name: ClassVar[str] = "resourcequota_primary"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, workers=context.options.concurrent_resource_quota_syncs)
        self._quotas = self.informer(ResourceQuota)
        self._quotas.add_callback(self._quota_changed)
        #: Monotonic time of the last increment by admission, by quota.
        self._raised: dict[str, float] = {}
        #: Resources counted by full objects, not only by number.
        self._whole: dict[str, Informer[Any]] = {
            "pods": self.informer(Pod),
            "services": self.informer(Service),
            "persistentvolumeclaims": self.informer(PersistentVolumeClaim),
        }
        for name, informer in self._whole.items():
            informer.add_callback(partial(self._object_changed, name))
        self._metadata = shared(context.client, context.informers, clock=context.clock)
        self._metadata.listen(self._metadata_changed)
        self._metadata.listen_synced(self._recount)
        period_seconds = context.options.resource_quota_sync_period_seconds
        self.resync_every(period_seconds, lambda: [key_of(quota) for quota in self._quotas.lister])

    async def run(self) -> None:
        """Run until cancelled."""
        async with self._metadata.running():
            await super().run()

    def _quota_changed(self, change: Change[ResourceQuota]) -> None:
        key = key_of(change.latest)
        if isinstance(change, Deleted):
            self._raised.pop(key, None)
            return
        if isinstance(change, Updated) and raises(_tree(change.old), _tree(change.new)):
            self._raised[key] = self.clock.monotonic()
        self.queue.add(key)

    def _metadata_changed(self, resource: ResourceType[Any], change: Change[Any]) -> None:
        name = resource.info.group_resource
        if name == _DEVICE_CLAIMS and name not in self._whole:
            self._watch_device_claims()
        if name not in self._whole and not isinstance(change, Updated):
            self._object_changed(name, change)

    def _watch_device_claims(self) -> None:
        """Watch ResourceClaims as soon as the server serves them."""
        informer = self.context.informers.informer(typed_model("resource.k8s.io/v1", "ResourceClaim"))
        self._whole[_DEVICE_CLAIMS] = informer
        informer.add_callback(self._device_claim_changed)
        informer.start()

    def _device_claim_changed(self, change: Change[Any]) -> None:
        """Enqueue the quotas of the claim's namespace, also for the initial list."""
        self._object_changed(_DEVICE_CLAIMS, Added(change.new) if isinstance(change, Added) else change)

    def _object_changed(self, resource: str, change: Change[Any]) -> None:
        if isinstance(change, Added) and change.is_initial:
            return
        self._recount(resource, namespace=namespace_of(change.latest))

    def _recount(self, resource: str, *, namespace: str = "") -> None:
        """Enqueue the quotas that count a resource."""
        for quota in self._quotas.lister.list(namespace=namespace):
            if quota.spec is not None and resource in counted_resources(quota.spec.hard or {}):
                self.queue.add_after(key_of(quota), _SETTLE_SECONDS)

    async def reconcile(self, key: str) -> Result | None:
        """Compute the usage, and write it if it changed."""
        cached_quota = self._quotas.lister.by_key(key)
        if cached_quota is None:
            return None
        quota, namespace, now = _tree(cached_quota), namespace_of(cached_quota), self.clock.now()
        pods: list[Tree] = []

        def objects_of(resource: str) -> Iterable[Tree] | None:
            listed = self._objects(resource, namespace)
            if resource == "pods" and listed is not None:
                pods.extend(listed)
            return listed

        counted = count(quota, objects_of, now=now)
        if not is_written(quota, counted):
            wait = self._raised.get(key, -GRACE_SECONDS) + GRACE_SECONDS - self.clock.monotonic()
            if wait > 0 and lowers(quota, counted):
                return Result(requeue_after_seconds=wait)
            await self._write(key, quota, counted.tree())
        overdue = seconds_to_overdue_pod(pods, now=now)
        return None if overdue is None else Result(requeue_after_seconds=overdue)

    def _objects(self, resource: str, namespace: str) -> list[Tree] | None:
        whole = self._whole.get(resource)
        if whole is not None:
            return [_tree(obj) for obj in whole.lister.list(namespace=namespace)] if whole.has_synced else None
        informer = self._metadata.informers.get(resource)
        if informer is None or not informer.has_synced:
            return None
        return [{} for _ in informer.lister.list(namespace=namespace)]

    async def _write(self, key: str, quota: Tree, status: Tree) -> None:
        """Update the status of this version, so that concurrent increments by admission are not lost."""
        body = {**quota, "apiVersion": "v1", "kind": "ResourceQuota", "status": status}
        try:
            written = await self.client.update_status(msgspec.convert(body, ResourceQuota))
        except NotFound:
            return
        self.own_writes.note(key, self._quotas, written)


def _tree(obj: Any) -> Tree:
    tree: Tree = msgspec.to_builtins(obj)
    return tree


def build(context: ControllerContext) -> ResourceQuotaController:
    """Construct the controller."""
    return ResourceQuotaController(context)
