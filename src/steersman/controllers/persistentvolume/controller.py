"""Volume binder: watches claims, volumes, classes and pods. One worker waits for its own writes, so that no volume is bound to
two claims; other writers are detected by resourceVersion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, assert_never

from lightkube.models.core_v1 import PersistentVolume, PersistentVolumeClaim, Pod
from lightkube.models.storage_v1 import StorageClass

from steersman.client.changes import Added, Deleted, Updated
from steersman.client.errors import ClientError, NotFound
from steersman.client.objects import key_of, name_of, uid_of
from steersman.controllers.persistentvolume.binding import (
    bound_claim,
    bound_volume,
    claim_in_phase,
    unbound_volume,
    volume_in_phase,
    with_class,
    with_provisioner,
)
from steersman.controllers.persistentvolume.migration import migrated_claim, migrated_volume, unprotected_volume
from steersman.controllers.persistentvolume.plan import (
    AssignClass,
    Bind,
    EnqueueClaim,
    InconsistentBinding,
    Lost,
    Mismatch,
    Provision,
    SetPhase,
    Unbind,
    Wait,
    plan_claim,
    plan_use,
    plan_volume,
    reclaim,
    waiting_claims,
)
from steersman.controllers.persistentvolume.recycling import Recycler, RecyclerSettings
from steersman.controllers.shared.base import ManagedController
from steersman.workloads.pod_volumes import claim_keys_of, releases_volumes
from steersman.workloads.pods import node_of

if TYPE_CHECKING:
    from steersman.client.changes import Change
    from steersman.client.informer import Informer
    from steersman.controllers.context import ControllerContext
    from steersman.controllers.persistentvolume.plan import Event

_CLAIM: Final = "claim:"
_VOLUME: Final = "volume:"
_BY_CLAIM: Final = "claim of a volume"
_BY_POD_CLAIM: Final = "claims of a pod"
_SEEN_SECONDS: Final = 10.0


class PersistentVolumeBinder(ManagedController):
    """Controller of ``claim:NAMESPACE/NAME`` and ``volume:NAME`` keys."""

    name: ClassVar[str] = "persistentvolume-binder-controller"
    queue_name: ClassVar[str] = "claims"
    component: ClassVar[str] = "persistentvolume-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._claims = self.informer(PersistentVolumeClaim)
        self._volumes = self.informer(PersistentVolume)
        self._volumes.add_index(_BY_CLAIM, _claim_keys)
        self._claims.add_callback(self._claim_changed)
        self._volumes.add_callback(self._volume_changed)
        self._classes = self.informer(StorageClass)
        self._classes.add_callback(self._class_changed)
        self._pods = self.informer(Pod)
        self._pods.add_index(_BY_POD_CLAIM, claim_keys_of)
        self._recycler = Recycler(
            self.client,
            self._pods,
            lambda name: self.queue.add(_VOLUME + name),
            settings=RecyclerSettings.of(context.options),
        )
        self.resync_every(context.options.pvclaimbinder_sync_period_seconds, self._all_keys)

    def _all_keys(self) -> list[str]:
        claims = [_CLAIM + key_of(claim) for claim in self._claims.lister]
        return claims + [_VOLUME + name_of(volume) for volume in self._volumes.lister]

    def _claim_changed(self, change: Change[PersistentVolumeClaim]) -> None:
        """Enqueue a claim; after its deletion also the volumes with a ``claimRef`` to it."""
        claim = change.latest
        if not isinstance(change, Deleted):
            self.queue.add(_CLAIM + key_of(claim))
        for state in (change.old, claim) if isinstance(change, Updated) else (claim,):
            if state.spec and state.spec.volumeName:
                self.queue.add(_VOLUME + state.spec.volumeName)
        for volume in self._volumes.lister.by_index(_BY_CLAIM, key_of(claim)):
            self.queue.add(_VOLUME + name_of(volume))

    def _volume_changed(self, change: Change[PersistentVolume]) -> None:
        volume = change.latest
        if not isinstance(change, Deleted):
            self.queue.add(_VOLUME + name_of(volume))
        reference = volume.spec.claimRef if volume.spec else None
        if reference is not None:
            self.queue.add(f"{_CLAIM}{reference.namespace}/{reference.name}")
        elif not isinstance(change, Deleted):
            self._requeue_waiting()

    def _class_changed(self, change: Change[StorageClass]) -> None:
        if not isinstance(change, Deleted) and not (isinstance(change, Added) and change.is_initial):
            self._requeue_waiting()

    def _requeue_waiting(self) -> None:
        for claim in waiting_claims(self._claims.lister):
            self.queue.add(_CLAIM + key_of(claim))

    async def reconcile(self, key: str) -> None:
        """Execute the plan of a claim or volume."""
        if key.startswith(_CLAIM):
            claim = self._claims.lister.by_key(key.removeprefix(_CLAIM))
            if claim is not None:
                await self._reconcile_claim(claim)
            return
        volume = self._volumes.lister.get(key.removeprefix(_VOLUME))
        if volume is not None:
            await self._reconcile_volume(volume)

    # Claims

    async def _reconcile_claim(self, claim: PersistentVolumeClaim) -> None:
        migrated = migrated_claim(claim)
        if migrated is not claim:
            claim = await self._write(self._claims, migrated)
        volumes = {name_of(volume): volume for volume in self._volumes.lister}
        classes = {name_of(storage_class): storage_class for storage_class in self._classes.lister}
        plan = plan_claim(claim, volumes, classes, waiting_pods=self._waiting_pods(claim))
        match plan:
            case Bind(volume):
                await self._bind(volume, claim)
            case Wait(event, pending):
                self._record(claim, event)
                if pending:
                    await self._claim_phase(claim, "Pending", None)
            case AssignClass(name):
                await self._write(self._claims, with_class(claim, name))
            case Provision() if not self.options.enable_dynamic_provisioning:
                pass
            case Provision(provisioner, event):
                new = with_provisioner(claim, provisioner)
                self._record(claim if new is claim else await self._write(self._claims, new), event)
            case Lost(event):
                if await self._claim_phase(claim, "Lost", None) is not claim:
                    self._record(claim, event)
            case InconsistentBinding(event, message):
                self._record(claim, event)
                raise ClientError(f"{key_of(claim)}: {message}")
            case _:
                assert_never(plan)

    def _waiting_pods(self, claim: PersistentVolumeClaim) -> list[str]:
        """Return the names of unscheduled pods that use the claim, also through a generic ephemeral volume."""
        return [name_of(pod) for pod in self._users(key_of(claim)) if not node_of(pod)]

    def _users(self, claim_key: str) -> list[Pod]:
        """Return the pods that may use the volumes of a claim."""
        return [pod for pod in self._pods.lister.by_index(_BY_POD_CLAIM, claim_key) if not releases_volumes(pod)]

    async def _bind(self, volume: PersistentVolume, claim: PersistentVolumeClaim) -> None:
        """Write volume, volume status, claim and claim status; after a failure a retry of either continues."""
        new_volume = bound_volume(volume, claim)
        if new_volume is not volume:
            volume = await self._write(self._volumes, new_volume)
        volume = await self._volume_phase(volume, "Bound")
        new_claim = bound_claim(claim, volume)
        if new_claim is not claim:
            claim = await self._write(self._claims, new_claim)
        await self._claim_phase(claim, "Bound", volume)

    async def _claim_phase(
        self, claim: PersistentVolumeClaim, phase: str, volume: PersistentVolume | None
    ) -> PersistentVolumeClaim:
        new = claim_in_phase(claim, phase, volume)
        return claim if new is None else await self._write(self._claims, new, status=True)

    # Volumes

    async def _reconcile_volume(self, volume: PersistentVolume) -> None:
        migrated = migrated_volume(volume)
        if migrated is not volume:
            volume = await self._write(self._volumes, migrated)
        claim = await self._named_claim(volume)
        plan = plan_volume(volume, claim)
        match plan:
            case SetPhase(phase, to_be_reclaimed):
                if phase is not None:
                    volume = await self._volume_phase(volume, phase)
                if to_be_reclaimed:
                    await self._reclaim(volume)
            case EnqueueClaim():
                if claim is not None:
                    self.queue.add(_CLAIM + key_of(claim))
            case Unbind():
                await self._unbind(volume)
            case Mismatch(volume_event, claim_event):
                self._record(volume, volume_event)
                self._record(claim, claim_event)
            case _:
                assert_never(plan)

    async def _named_claim(self, volume: PersistentVolume) -> PersistentVolumeClaim | None:
        """Return the claim of ``claimRef``; the server is read before a volume is released, as the cache may be behind."""
        reference = volume.spec.claimRef if volume.spec else None
        if reference is None or not reference.uid or not reference.namespace or not reference.name:
            return None
        claim = self._claims.lister.get(reference.name, namespace=reference.namespace)
        if claim is not None and uid_of(claim) == reference.uid:
            return claim
        phase = volume.status.phase if volume.status else None
        if claim is None and phase in ("Released", "Failed"):
            return None
        try:
            live = await self.client.get(PersistentVolumeClaim, reference.name, namespace=reference.namespace)
        except NotFound:
            return None
        return live if uid_of(live) == reference.uid else None

    async def _volume_phase(self, volume: PersistentVolume, phase: str, message: str = "") -> PersistentVolume:
        new = volume_in_phase(volume, phase, message)
        return volume if new is None else await self._write(self._volumes, new, status=True)

    async def _unbind(self, volume: PersistentVolume) -> None:
        volume = await self._write(self._volumes, unbound_volume(volume))
        await self._volume_phase(volume, "Available")

    async def _reclaim(self, volume: PersistentVolume) -> None:
        action, event = reclaim(volume)
        if action == "delete":
            unprotected = unprotected_volume(volume)
            if unprotected is not volume:
                volume = await self.client.update(unprotected)
            await self.delete_seen(volume)
        elif action == "recycle":
            event = self._use_of_lost_claim(volume)
            if event is not None:
                self._record(volume, event)
                return
            outcome = await self._recycler.advance(volume)
            if outcome == "done":
                self.events.event(volume, "Normal", "VolumeRecycled", "Volume recycled")
                await self._unbind(volume)
            elif outcome:
                await self._fail(volume, "VolumeFailedRecycle", f"Recycle failed: {outcome}")
        elif action == "fail" and event is not None:
            await self._fail(volume, event.reason, event.message)

    def _use_of_lost_claim(self, volume: PersistentVolume) -> Event | None:
        """Return the event of a volume that pods still use although its claim does not exist."""
        for key in _claim_keys(volume):
            if self._claims.lister.by_key(key) is None:
                return plan_use([key_of(pod) for pod in self._users(key)])
        return None

    async def _fail(self, volume: PersistentVolume, reason: str, message: str) -> None:
        if await self._volume_phase(volume, "Failed", message) is not volume:
            self.events.event(volume, "Warning", reason, message)

    # Both

    def _record(self, obj: Any, event: Event | None) -> None:
        if event is not None and obj is not None:
            self.events.event(obj, event.type, event.reason, event.message)

    async def _write(self, informer: Informer[Any], new: Any, *, status: bool = False) -> Any:
        written = await (self.client.update_status(new) if status else self.client.update(new))
        try:
            await informer.wait_seen(written, timeout_seconds=_SEEN_SECONDS)
        except TimeoutError:
            self.log.warning("the cache of %s is behind, going on", informer.name)
        return written


def _claim_keys(volume: PersistentVolume) -> list[str]:
    reference = volume.spec.claimRef if volume.spec else None
    return [f"{reference.namespace}/{reference.name}"] if reference is not None else []


def build(context: ControllerContext) -> PersistentVolumeBinder:
    """Construct the controller."""
    return PersistentVolumeBinder(context)
