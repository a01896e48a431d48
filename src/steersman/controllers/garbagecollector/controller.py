"""Garbage collector: observes the metadata of every object; workers process what the graph enqueues."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.client import PatchType, tree
from steersman.client.changes import Added, Deleted, Updated
from steersman.client.errors import Conflict, NotFound
from steersman.client.events.lru import LruDict
from steersman.client.objects import resource_version_of, uid_of
from steersman.client.partial_metadata import metadata_only
from steersman.controllers.garbagecollector.graph import FOREGROUND, ORPHAN, Graph, Identity
from steersman.controllers.garbagecollector.plan import (
    DANGLING,
    Delete,
    Keep,
    Release,
    decide,
    finalizer_patch,
    has_same_relations,
    observed_object,
    owner_candidates,
    release_patch,
    state_of,
    unblock_patch,
)
from steersman.controllers.shared.base import ManagedController
from steersman.controllers.shared.metadata_watch import shared
from steersman.runtime.owners import owners_of
from steersman.runtime.result import Result

if TYPE_CHECKING:
    from steersman.client import ResourceType
    from steersman.client.changes import Change
    from steersman.controllers.context import ControllerContext
    from steersman.controllers.garbagecollector.graph import Effects, Node
    from steersman.controllers.garbagecollector.plan import OwnerState
    from steersman.runtime.owners import Owner

#: Prefix of keys of owners whose dependents are orphaned; other keys are UIDs.
_ORPHAN: Final = "orphan:"
#: Number of dependents of one owner released concurrently.
_RELEASES_AT_ONCE: Final = 20
#: As upstream's cache.
_ABSENT_MAX: Final = 500


class _UnknownKind(LookupError):  # noqa: N818 — named by the condition
    """The kind is not served."""


class _Misplaced(ValueError):  # noqa: N818 — named by the condition
    """A cluster-scoped object refers to a namespaced owner, which cannot exist."""


class GarbageCollector(ManagedController):
    """Reconciles nodes of the graph by UID."""

    name: ClassVar[str] = "garbage-collector-controller"
    queue_name: ClassVar[str] = "garbage_collector_attempt_to_delete"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, workers=context.options.concurrent_gc_syncs)
        self.graph: Final = Graph()
        #: UIDs of owners that do not exist, to avoid a read per dependent; UIDs are not reused.
        self._absent: LruDict[Identity, bool] = LruDict(_ABSENT_MAX)
        self._metadata = shared(context.client, context.informers, clock=context.clock)
        self._metadata.listen(self._on_change)

    async def run(self) -> None:
        """Run until cancelled."""
        async with self._metadata.running():
            await super().run()

    # Event handlers

    def _on_change(self, resource: ResourceType[Any], change: Change[Any]) -> None:
        match change:
            case Added(new):
                self._apply(self.graph.observe(observed_object(resource, new), None))
            case Updated(old, new) if old is not new:
                if not (self.graph.has_observed(uid_of(new)) and has_same_relations(old, new)):
                    self._apply(self.graph.observe(observed_object(resource, new), observed_object(resource, old)))
            case Deleted(old):
                self._apply(self.graph.forget(observed_object(resource, old).identity))

    def _apply(self, effects: Effects) -> None:
        for identity in effects.absent:
            self._absent.put(identity, True)
        for uid in effects.delete:
            self.queue.add(uid)
        for uid in effects.later:
            self.queue.add_rate_limited(uid)
        for uid in effects.orphan:
            self.queue.add(_ORPHAN + uid)
        for dependent, claimed in effects.invalid:
            self._report(dependent, claimed)

    def _report(self, dependent: Identity, claimed: Identity) -> None:
        reference = {
            "apiVersion": dependent.api_version,
            "kind": dependent.kind,
            "namespace": dependent.namespace,
            "name": dependent.name,
            "uid": dependent.uid,
        }
        text = f'ownerRef {claimed} does not exist in namespace "{dependent.namespace}"'
        self.events.event(reference, "Warning", "OwnerRefInvalidNamespace", text)

    # Writes

    async def reconcile(self, key: str) -> Result | None:
        """Release dependents of an owner, or process an object that may be garbage."""
        if key.startswith(_ORPHAN):
            await self._orphan(key.removeprefix(_ORPHAN))
            return None
        node = self.graph.nodes.get(key)
        if node is None:
            return None
        try:
            is_gone = await self._attempt(node)
        except _UnknownKind as error:
            self.log.debug("%s: %s", node.identity, error)
            return Result(requeue=True)
        except _Misplaced:
            return None
        # An existing virtual node is read again until its watch event arrives.
        return Result(requeue=True) if node.virtual and not is_gone and self.graph.nodes.get(key) is node else None

    async def _attempt(self, node: Node) -> bool:
        """Process a node; return True if its object does not exist."""
        if node.being_deleted and not node.deleting_dependents:
            return False
        identity = node.identity
        latest = self._cached(identity) or await self._get(identity)
        if latest is None or uid_of(latest) != identity.uid:
            self._apply(self.graph.remove_absent(identity))
            return True
        if node.deleting_dependents:
            await self._go_on_in_foreground(node, latest)
            return False
        owners = owners_of(latest)
        if not owners:
            return False
        owner_states = [(owner, await self._owner_state(owner, identity.namespace)) for owner in owners]
        dependents = self.graph.dependents(identity.uid)
        in_cycle = any(dependent.deleting_dependents for dependent in dependents)
        match decide(latest, owner_states, dependents=len(dependents), in_cycle=in_cycle):
            case Keep():
                pass
            case Release(uids):
                await self._patch(identity, release_patch(latest, uids, strategic=_is_builtin(identity)))
            case Delete(policy, unblock):
                if unblock:
                    await self._unblock(identity)
                    latest = await self._get(identity)
                if latest is not None:
                    await self._delete(identity, latest, policy)
        return False

    async def _go_on_in_foreground(self, node: Node, latest: Any) -> None:
        blocking = self.graph.blocking(node.identity.uid)
        if not blocking:
            await self._take_finalizer_off(node.identity, latest, FOREGROUND)
        for dependent in blocking:
            if not dependent.deleting_dependents:
                self.queue.add(dependent.identity.uid)
            elif self.graph.waits_for(dependent.identity.uid, node.identity.uid):
                await self._unblock(dependent.identity)

    async def _unblock(self, identity: Identity) -> None:
        """Remove ``blockOwnerDeletion`` from the owner references of an object in a cycle of foreground deletions."""
        latest = await self._get(identity)
        if latest is not None and uid_of(latest) == identity.uid:
            await self._patch(identity, unblock_patch(latest, strategic=_is_builtin(identity)))

    async def _orphan(self, uid: str) -> None:
        node = self.graph.nodes.get(uid)
        if node is None:
            return
        places = asyncio.Semaphore(_RELEASES_AT_ONCE)
        releases = [self._release(dependent.identity, uid, places) for dependent in self.graph.dependents(uid)]
        for outcome in await asyncio.gather(*releases, return_exceptions=True):
            if outcome is not None:
                raise outcome
        latest = await self._get(node.identity)
        if latest is not None and uid_of(latest) == uid:
            await self._take_finalizer_off(node.identity, latest, ORPHAN)

    async def _release(self, identity: Identity, owner_uid: str, places: asyncio.Semaphore) -> None:
        async with places:
            builtin = _is_builtin(identity)
            latest = {"metadata": {"uid": identity.uid}} if builtin else await self._get(identity)
            if latest is not None and uid_of(latest) == identity.uid:
                await self._patch(identity, release_patch(latest, [owner_uid], strategic=builtin))

    async def _owner_state(self, owner: Owner, namespace: str) -> OwnerState:
        candidates = owner_candidates(owner, namespace)
        if any(self._absent.get(candidate) for candidate in candidates):
            return DANGLING
        resource = self._resource(owner.api_version, owner.kind)
        if resource.info.namespaced and not namespace:
            raise _Misplaced
        identity = candidates[1] if resource.info.namespaced else candidates[0]
        obj = self._cached(identity) or await self._get(identity)
        if obj is None or uid_of(obj) != owner.uid:
            self._absent.put(identity, True)
            return DANGLING
        return state_of(obj)

    # Requests

    def _resource(self, api_version: str, kind: str) -> ResourceType[Any]:
        resource_type = self._metadata.served.kinds.get((api_version, kind))
        if resource_type is None:
            raise _UnknownKind(f'no matches for kind "{kind}" in version "{api_version}"')
        return resource_type

    def _cached(self, identity: Identity) -> Any | None:
        """Return the observed state of an object; None if it is unknown or another object, and must be read.

        A stale state is safe: deletions and patches have the version or UID as precondition, and the event of a deleted owner
        enqueues its dependents again.
        """
        resource = self._resource(identity.api_version, identity.kind)
        informer = self._metadata.informers.get(resource.info.group_resource)
        cached = informer.lister.get(identity.name, namespace=identity.namespace) if informer is not None else None
        return cached if cached is not None and uid_of(cached) == identity.uid else None

    async def _get(self, identity: Identity) -> Any | None:
        resource = self._resource(identity.api_version, identity.kind)
        if resource.info.namespaced and not identity.namespace:
            raise _Misplaced
        namespace = identity.namespace if resource.info.namespaced else None
        try:
            return await self.client.get(metadata_only(resource), identity.name, namespace=namespace)
        except NotFound:
            return None

    async def _patch(self, identity: Identity, patch: dict[str, Any]) -> None:
        resource = self._resource(identity.api_version, identity.kind)
        strategic = "resourceVersion" not in patch["metadata"]
        with suppress(NotFound):
            await self.client.patch(
                metadata_only(resource),
                identity.name,
                patch,
                patch_type=PatchType.STRATEGIC if strategic else PatchType.MERGE,
                namespace=identity.namespace or None,
            )

    async def _take_finalizer_off(self, identity: Identity, latest: Any, finalizer: str) -> None:
        patch = finalizer_patch(latest, finalizer)
        if patch is not None:
            await self._patch(identity, patch)

    async def _delete(self, identity: Identity, latest: Any, policy: Any) -> None:
        """Delete the evaluated version; a changed one only if its owners are the same."""
        resource = self._resource(identity.api_version, identity.kind)

        async def delete(version: str | None) -> None:
            options = {"uid": identity.uid, "propagation_policy": policy}
            if version is not None:
                options["resource_version"] = version
            namespace = identity.namespace or None
            await self.client.delete(resource, identity.name, namespace=namespace, **options)

        try:
            try:
                await delete(resource_version_of(latest))
            except Conflict:
                live = await self._get(identity)
                if live is None or uid_of(live) != identity.uid:
                    return
                if owners_of(live) != owners_of(latest):
                    raise
                await delete(None)
        except NotFound:
            pass


def _is_builtin(identity: Identity) -> bool:
    """Report whether the server can merge its lists by key."""
    try:
        tree(identity.api_version, identity.kind)
    except LookupError:
        return False
    return True


def build(context: ControllerContext) -> GarbageCollector | None:
    """Construct the controller; None with ``--enable-garbage-collector=false``."""
    return GarbageCollector(context) if context.options.enable_garbage_collector else None
