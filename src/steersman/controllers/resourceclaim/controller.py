"""Controller of ResourceClaims: watches pods, claims, and templates."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Final

from lightkube.models.core_v1 import Pod
from lightkube.models.resource_v1 import ResourceClaim, ResourceClaimTemplate

from steersman.client.changes import Added, Deleted
from steersman.client.errors import ApiError, ClientError, NotFound
from steersman.client.events.lru import LruDict
from steersman.client.objects import key_of, name_of, namespace_of, uid_of
from steersman.controllers.resourceclaim.plan import (
    MissingClaim,
    NoTemplate,
    find_created_claim,
    from_template,
    is_done,
    is_for_other,
    is_leftover,
    made_for,
    missing,
    owning_pod,
    reserved,
    status_patch,
    without_consumers,
    without_protection,
)
from steersman.controllers.shared.base import ManagedController
from steersman.runtime.finalizers import is_being_deleted
from steersman.workloads.pods import node_of
from steersman.workloads.resource_claims import claim_names, consumers, entries, is_pod

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lightkube.models.resource_v1 import ResourceClaimConsumerReference

    from steersman.client.changes import Change
    from steersman.controllers.context import ControllerContext

_POD: Final = "pod:"
_CLAIM: Final = "claim:"
_BY_TEMPLATE: Final = "resource claim template"
_BY_CLAIM: Final = "resource claim"
_BY_POD: Final = "resource claim pod"
_MANAGER: Final = "ResourceClaimController"
#: Maximum number of remembered UIDs of deleted pods, which need no read of the server.
_ABSENT_PODS_MAX: Final = 500


class ResourceClaimController(ManagedController):
    """Reconciles ``pod:NAMESPACE/NAME`` and ``claim:NAMESPACE/NAME``."""

    name: ClassVar[str] = "resourceclaim-controller"
    queue_name: ClassVar[str] = "resource_claim"
    component: ClassVar[str] = "resource_claim"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, workers=context.options.concurrent_resourceclaim_syncs)
        self._absent_pods: LruDict[str, bool] = LruDict(_ABSENT_PODS_MAX)
        #: Pod UIDs and entries with a requested claim that the cache does not show yet. It may exist:
        #: the response may be lost, and names are generated.
        self._created_claims: set[tuple[str, str]] = set()
        self._pods = self.informer(Pod)
        self._pods.add_index(_BY_TEMPLATE, _templates)
        self._pods.add_index(_BY_CLAIM, _claims)
        self._pods.add_callback(self._pod_changed)
        self._claims = self.informer(ResourceClaim)
        self._claims.add_index(_BY_POD, _pods)
        self._claims.add_callback(self._claim_changed)
        self._templates = self.informer(ResourceClaimTemplate)
        self._templates.add_callback(self._template_changed)

    def _pod_changed(self, change: Change[Pod]) -> None:
        pod = change.latest
        if isinstance(change, Deleted):
            self._absent_pods.put(uid_of(pod), True)
            self._created_claims -= {(uid_of(pod), entry.name) for entry in entries(pod)}
        # A scheduler makes claims for extended resources (KEP-5004), which the pod's spec does not name.
        own = self._claims.lister.by_index(_BY_POD, key_of(pod))
        if not entries(pod) and not own:
            return
        if isinstance(change, Deleted) or is_done(pod):
            for name in {*map(name_of, own), *claim_names(pod)}:
                self.queue.add(f"{_CLAIM}{namespace_of(pod)}/{name}")
        else:
            self.queue.add(_POD + key_of(pod))

    def _claim_changed(self, change: Change[ResourceClaim]) -> None:
        claim = change.latest
        if not isinstance(change, Deleted):
            self._created_claims.discard(made_for(claim))
            self.queue.add(_CLAIM + key_of(claim))
        for pod in self._pods.lister.by_index(_BY_CLAIM, key_of(claim)):
            self.queue.add(_POD + key_of(pod))

    def _template_changed(self, change: Change[ResourceClaimTemplate]) -> None:
        if isinstance(change, Added) and not change.is_initial:
            for pod in self._pods.lister.by_index(_BY_TEMPLATE, key_of(change.new)):
                self.queue.add(_POD + key_of(pod))

    async def reconcile(self, key: str) -> None:
        """Create a pod's claims, or release a claim from its pods."""
        if key.startswith(_POD):
            pod = self._pods.lister.by_key(key.removeprefix(_POD))
            if pod is not None and not is_being_deleted(pod) and not is_done(pod):
                await self._reconcile_pod(key, pod)
            return
        claim = self._claims.lister.by_key(key.removeprefix(_CLAIM))
        if claim is not None:
            await self._reconcile_claim(key, claim)

    # Pods

    async def _reconcile_pod(self, key: str, pod: Pod) -> None:
        namespace = namespace_of(pod)
        claim_names: dict[str, str] = {}
        current = ""
        try:
            for missing_claim in missing(pod, lambda name: self._claims.lister.get(name, namespace=namespace)):
                current = missing_claim.entry
                claim_names[missing_claim.entry] = await self._make(key, pod, missing_claim)
        except (ApiError, NoTemplate) as error:
            self.events.event(pod, "Warning", "FailedResourceClaimCreation", f"PodResourceClaim {current}: {error}")
            if isinstance(error, ApiError):
                raise
            raise ClientError(f"PodResourceClaim {current}: {error}") from error
        if claim_names:
            written = await self.client.apply(
                status_patch(pod, claim_names), field_manager=_MANAGER, force=True, subresource="status"
            )
            self.own_writes.note(key, self._pods, written)
        if node_of(pod):
            await self._reserve(key, pod)

    async def _make(self, key: str, pod: Pod, missing_claim: MissingClaim) -> str:
        claim_id = (uid_of(pod), missing_claim.entry)
        claims: Iterable[ResourceClaim] = self._claims.lister.by_index(_BY_POD, key_of(pod))
        if claim_id in self._created_claims:
            claims = await self.client.list_all(ResourceClaim, namespace=namespace_of(pod))
        existing_claim = find_created_claim(pod, missing_claim.entry, claims)
        if existing_claim is not None:
            return name_of(existing_claim)
        template = self._templates.lister.get(missing_claim.template, namespace=namespace_of(pod))
        if template is None:
            raise NoTemplate(
                f'resource claim template "{missing_claim.template}": '
                f'resourceclaimtemplate.resource.k8s.io "{missing_claim.template}" not found'
            )
        self._created_claims.add(claim_id)
        created = await self.client.create(from_template(pod, missing_claim.entry, template))
        self.record_created(key, self._claims, created)
        return name_of(created)

    async def _reserve(self, key: str, pod: Pod) -> None:
        for name in claim_names(pod):
            claim = self._claims.lister.get(name, namespace=namespace_of(pod))
            new = reserved(claim, pod) if claim is not None else None
            if new is not None:
                self.own_writes.note(key, self._claims, await self.client.update_status(new))

    # Claims

    async def _reconcile_claim(self, key: str, claim: ResourceClaim) -> None:
        gone_consumers = [
            consumer for consumer in consumers(claim) if is_pod(consumer) and await self._is_gone(claim, consumer)
        ]
        new = without_consumers(claim, gone_consumers)
        if new is not None:
            claim = await self.client.update_status(new)
            self.own_writes.note(key, self._claims, claim)
        if new is not None or is_being_deleted(claim):
            unprotected = without_protection(claim)
            if unprotected is not None:
                await self._update(key, unprotected)
        owner = owning_pod(claim)
        pod = self._pods.lister.get(owner.name, namespace=namespace_of(claim)) if owner is not None else None
        if is_leftover(claim, pod):
            await self.delete_seen(claim)

    async def _is_gone(self, claim: ResourceClaim, consumer: ResourceClaimConsumerReference) -> bool:
        """Report whether a consumer does not exist; verified with the server, as the scheduler may be ahead of the cache."""
        if self._absent_pods.get(consumer.uid):
            return True
        pod: Any = self._pods.lister.get(consumer.name, namespace=namespace_of(claim))
        if pod is None:
            try:
                pod = await self.client.get(Pod, consumer.name, namespace=namespace_of(claim))
            except NotFound:
                return True
        return is_for_other(pod, consumer)

    async def _update(self, key: str, new: ResourceClaim) -> None:
        with suppress(NotFound):
            self.own_writes.note(key, self._claims, await self.client.update(new))


def _templates(pod: Pod) -> list[str]:
    names = [entry.resourceClaimTemplateName for entry in entries(pod)]
    return [f"{namespace_of(pod)}/{name}" for name in names if name]


def _claims(pod: Pod) -> list[str]:
    return [f"{namespace_of(pod)}/{name}" for name in claim_names(pod)]


def _pods(claim: ResourceClaim) -> list[str]:
    owner = owning_pod(claim)
    return [f"{namespace_of(claim)}/{owner.name}"] if owner is not None else []


def build(context: ControllerContext) -> ResourceClaimController:
    """Construct the controller."""
    return ResourceClaimController(context)
