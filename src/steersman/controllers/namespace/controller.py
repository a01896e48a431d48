"""Namespace controller: deletes the content of terminating namespaces in passes; deletions trigger the next pass."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Final

from lightkube.models.core_v1 import Namespace

from steersman.client.changes import Added, Deleted
from steersman.client.errors import ApiError, ClientError, Conflict, MethodNotAllowed, NotFound
from steersman.client.objects import metadata_field, name_of, namespace_of
from steersman.client.partial_metadata import metadata_only
from steersman.controllers.namespace.plan import (
    Progress,
    UnexpectedItemsRemain,
    conditions,
    finalized,
    in_order,
    is_to_be_emptied,
    remains_of,
    seconds_to_next_pass,
    terminating,
    with_conditions,
)
from steersman.controllers.shared.base import ManagedController
from steersman.controllers.shared.metadata_watch import shared
from steersman.runtime.result import Result

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.client import ResourceType
    from steersman.client.changes import Change
    from steersman.controllers.context import ControllerContext

#: Deletions arrive in bursts; the next pass starts after this time without one.
_SETTLE_SECONDS: Final = 0.1
#: Upstream's delay before the first pass.
_YOUNG_SECONDS: Final = 5.0
#: Number of resources of one namespace that are deleted concurrently.
_AT_ONCE: Final = 8


class NamespaceController(ManagedController):
    """Controller of namespaces by name."""

    name: ClassVar[str] = "namespace-controller"
    queue_name: ClassVar[str] = "namespace"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, workers=context.options.concurrent_namespace_syncs)
        self._namespaces = self.watch(
            Namespace,
            when=lambda change: not isinstance(change, Deleted) and is_to_be_emptied(change.new),
        )
        self._metadata = shared(context.client, context.informers, clock=context.clock)
        self._metadata.listen(self._on_change)
        self.resync_every(context.options.namespace_sync_period_seconds, self._terminating)

    def _terminating(self) -> list[str]:
        return [name_of(namespace) for namespace in self._namespaces.lister if is_to_be_emptied(namespace)]

    async def run(self) -> None:
        """Run until cancelled."""
        async with self._metadata.running():
            await super().run()

    def _on_change(self, resource: ResourceType[Any], change: Change[Any]) -> None:
        """Enqueue the namespace of an object that was deleted or lost a finalizer."""
        namespace = namespace_of(change.latest)
        if not namespace or (isinstance(change, Added) and change.is_initial):
            return
        if is_to_be_emptied(self._namespaces.lister.get(namespace)):
            nothing_left = isinstance(change, Deleted) and not self._others(resource, namespace)
            self.queue.add_after(namespace, 0.0 if nothing_left else _SETTLE_SECONDS)

    def _others(self, resource: ResourceType[Any], namespace: str) -> bool:
        informer = self._metadata.informers.get(resource.info.group_resource)
        return informer is not None and bool(informer.lister.list(namespace=namespace))

    async def reconcile(self, key: str) -> Result | None:
        """Execute one pass."""
        if not is_to_be_emptied(self._namespaces.lister.get(key)):
            return None
        try:
            namespace = await self.client.get(Namespace, key)
        except NotFound:
            return None
        if metadata_field(namespace, "deletionTimestamp") is None:
            return None
        changed = terminating(namespace)
        if changed is not None:
            namespace = await self.client.update_status(changed)
        if not is_to_be_emptied(namespace):
            return None
        progress = await self._empty(key)
        updated = with_conditions(namespace, conditions(progress), now=self.now())
        if updated is not None:
            try:
                namespace = await self.client.update_status(updated)
            except ApiError as error:
                self.log.info("namespace %s: its conditions cannot be written: %s", key, error)
        if progress.errors or progress.discovery_failed:
            raise ClientError("; ".join([*progress.errors, *progress.discovery_failed.values()]))
        if not progress.is_empty:
            return Result(requeue_after_seconds=seconds_to_next_pass(progress))
        if self._is_young(namespace) and self._anything(key):
            return Result(requeue_after_seconds=_SETTLE_SECONDS)
        await self._finalize(namespace)
        return None

    def _is_young(self, namespace: Namespace) -> bool:
        """Report whether a create from before the deletion may still be committed, e.g. by another server."""
        deleted = metadata_field(namespace, "deletionTimestamp")
        return (self.clock.now() - deleted).total_seconds() < _YOUNG_SECONDS if deleted else False

    def _anything(self, namespace: str) -> bool:
        """Report whether a cache has objects of the namespace: created late, or with unobserved deletion."""
        return any(informer.lister.list(namespace=namespace) for informer in self._metadata.informers.values())

    async def _finalize(self, namespace: Namespace) -> None:
        with suppress(NotFound):
            await self.client.update_subresource(Namespace, name_of(namespace), "finalize", finalized(namespace))

    async def _empty(self, namespace: str) -> Progress:
        """Delete all contents, and return the remaining objects."""
        served = await self._metadata.refresh()
        progress = Progress(discovery_failed=served.failed)
        pods, rest = in_order(served.supporting("delete").values())
        await self._each(pods, namespace, progress)
        if not (progress.remains or progress.errors):
            await self._each(rest, namespace, progress)
        return progress

    async def _each(self, resources: list[ResourceType[Any]], namespace: str, progress: Progress) -> None:
        places = asyncio.Semaphore(_AT_ONCE)

        async def one(resource: ResourceType[Any]) -> None:
            async with places:
                await self._empty_one(resource, namespace, progress)

        async with asyncio.TaskGroup() as group:
            for resource in resources:
                group.create_task(one(resource), name=f"{self.name}: {namespace} {resource.info.group_resource}")

    async def _empty_one(self, resource: ResourceType[Any], namespace: str, progress: Progress) -> None:
        verbs = resource.info.verbs
        try:
            if "list" not in verbs:
                if "deletecollection" in verbs:
                    await self._delete_collection(resource, namespace)
                return
            if not await self._remaining_objects(resource, namespace):
                return
            if not ("deletecollection" in verbs and await self._delete_collection(resource, namespace)):
                await self._delete_each(resource, namespace)
            progress.add(resource, remains_of(resource, await self._remaining_objects(resource, namespace)))
        except UnexpectedItemsRemain as error:
            progress.add(resource, error.remains)
            progress.errors.append(f"unexpected items still remain in namespace: {namespace} for gvr: {error}")
        except ClientError as error:
            progress.errors.append(str(error))

    async def _delete_collection(self, resource: ResourceType[Any], namespace: str) -> bool:
        """Delete all objects of a resource; return False if the server does not support it."""
        return await _unless_unknown(
            lambda: self.client.delete_collection(resource, namespace=namespace, propagation_policy="Background")
        )

    async def _delete_each(self, resource: ResourceType[Any], namespace: str) -> None:
        for obj in await self._remaining_objects(resource, namespace):
            with suppress(Conflict, MethodNotAllowed, NotFound):
                await self.client.delete(resource, name_of(obj), namespace=namespace, propagation_policy="Background")

    async def _remaining_objects(self, resource: ResourceType[Any], namespace: str) -> list[Any]:
        """Return the remaining objects from the server, as the cache may lack the latest ones."""
        try:
            return await self.client.list_all(metadata_only(resource), namespace=namespace)
        except (MethodNotAllowed, NotFound):
            return []


async def _unless_unknown(call: Callable[[], Any]) -> bool:
    try:
        await call()
    except (MethodNotAllowed, NotFound):
        return False
    return True


def build(context: ControllerContext) -> NamespaceController:
    """Construct the controller."""
    return NamespaceController(context)
