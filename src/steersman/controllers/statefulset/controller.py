"""StatefulSet controller: watches sets, Pods and claims, and executes the plan."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, assert_never

import msgspec
from lightkube.models.apps_v1 import StatefulSet
from lightkube.models.core_v1 import PersistentVolumeClaim, Pod

from steersman.apimachinery.errors import (
    is_namespace_terminating,
)
from steersman.apimachinery.field import join_messages
from steersman.apimachinery.selectors import from_label_selector
from steersman.client.changes import Deleted
from steersman.client.errors import AlreadyExists, ApiError, Conflict, NotFound
from steersman.client.objects import labels_of, name_of, namespace_of, uid_of
from steersman.controllers.shared.base import ManagedController, is_deleted
from steersman.controllers.shared.revision_control import RevisionControl
from steersman.controllers.statefulset import identity
from steersman.controllers.statefulset.plan import (
    Action,
    ChangeClaim,
    ChangePod,
    DeletePod,
    MakeClaim,
    MakePod,
    ObservedState,
    ReportController,
    plan,
)
from steersman.controllers.statefulset.status import needs_write, plan_status, seconds_to_requeue
from steersman.runtime.dependents import candidates, index_dependents
from steersman.runtime.expectations import Expectations
from steersman.runtime.finalizers import is_being_deleted
from steersman.runtime.owners import controller_of, is_controlled_by
from steersman.runtime.references import ReferenceManager
from steersman.runtime.result import Result
from steersman.runtime.slowstart import slow_start_batch
from steersman.runtime.structs import replaced
from steersman.workloads.revisions import in_order, superfluous, template_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lightkube.models.apps_v1 import ControllerRevision, StatefulSetStatus

    from steersman.apimachinery.selectors import LabelSelector
    from steersman.client.changes import Change
    from steersman.client.informer import Informer
    from steersman.controllers.context import ControllerContext
    from steersman.controllers.shared.revision_control import CurrentRevision

#: Delay until unobserved own deletions are checked without an event.
RECHECK_SECONDS: Final = 5.0


class StatefulSetController(ManagedController):
    """``statefulset-controller``."""

    name = "statefulset-controller"
    queue_name = "statefulset"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, workers=context.options.concurrent_statefulset_syncs)
        self.sets: Final[Informer[StatefulSet]] = self.informer(StatefulSet)
        self.pods: Final[Informer[Pod]] = self.watch(Pod, keys=self._sets_of)
        self.claims: Final[Informer[PersistentVolumeClaim]] = self.watch(
            PersistentVolumeClaim, keys=self._sets_of_claim, when=lambda change: isinstance(change, Deleted)
        )
        self.revisions: Final = RevisionControl(
            self,
            StatefulSet,
            hash_label=identity.REVISION_HASH,
            hashed=identity.revision_hash,
            keeps_hash_label=True,
        )
        #: UIDs of deleted Pods that the cache still has.
        self.expectations: Final = Expectations(self.clock)
        index_dependents(self.pods)
        self.sets.add_callback(self._set_changed)
        self.revisions.informer.add_callback(lambda change: self.enqueue_change(change, self._sets_of))

    # Event handlers

    def _set_changed(self, change: Change[StatefulSet]) -> None:
        if isinstance(change, Deleted):
            self.expectations.delete(f"{namespace_of(change.old)}/{name_of(change.old)}")
        self.enqueue_change(change)

    def _sets_of(self, obj: Pod | ControllerRevision) -> Iterable[str]:
        """Return the controlling set, the sets that may adopt the Pod, and those waiting for its name."""
        namespace = namespace_of(obj)
        owner = controller_of(obj)
        if owner is not None:
            stateful_set = owner.kind == "StatefulSet" and self.sets.lister.get(owner.name, namespace=namespace)
            return (f"{namespace}/{owner.name}",) if stateful_set and uid_of(stateful_set) == owner.uid else ()
        return [
            f"{namespace}/{name_of(sts)}"
            for sts in self.sets.lister.list(namespace=namespace)
            if _selector(sts).matches(labels_of(obj)) or (isinstance(obj, Pod) and identity.belongs_to(obj, sts))
        ]

    def _sets_of_claim(self, claim: PersistentVolumeClaim) -> Iterable[str]:
        """Return the sets with a Pod that may wait for the deletion of a claim."""
        namespace = namespace_of(claim)
        return [
            f"{namespace}/{name_of(sts)}"
            for sts in self.sets.lister.list(namespace=namespace)
            if any(
                name_of(claim).startswith(f"{name_of(template)}-{name_of(sts)}-")
                for template in identity.spec_of(sts).volumeClaimTemplates or ()
            )
        ]

    # Reconcile

    async def reconcile(self, key: str) -> Result | None:
        """Execute one step."""
        sts = self.sets.lister.by_key(key)
        if sts is None:
            self.expectations.delete(key)
            return None
        selector = _selector(sts)
        revisions = await self.revisions.claim(sts, selector, releases=False)
        pods = await self._claim(sts, selector)
        if not self._deletions_seen(key, pods):
            return Result(requeue_after_seconds=RECHECK_SECONDS)
        collisions = (sts.status.collisionCount if sts.status else None) or 0
        present = await self.revisions.settle(key, sts, revisions, collisions=collisions)
        world = self._world(sts, pods, revisions, present)
        failure = await self._apply(key, world, plan(world))
        await self._write_status(key, sts, plan_status(world, collisions=present.collisions))
        if failure is not None:
            raise failure
        await self._clean_history(world, revisions, present)
        seconds = seconds_to_requeue(world)
        return None if seconds is None else Result(requeue_after_seconds=seconds)

    async def _claim(self, sts: StatefulSet, selector: LabelSelector) -> list[Pod]:
        references = ReferenceManager(self.client, sts, controller_resource=StatefulSet, dependents=Pod)
        return await references.claim(
            candidates(self.pods.lister, sts),
            lambda pod: selector.matches(labels_of(pod)) and identity.belongs_to(pod, sts),
        )

    def _deletions_seen(self, key: str, pods: Iterable[Pod]) -> bool:
        """Report whether the cache has observed all own deletions; checked directly, because an event may be missed."""
        staying = {uid_of(pod) for pod in pods if not is_being_deleted(pod)}
        for uid in self.expectations.pending(key)[1] - staying:
            self.expectations.deletion_observed(key, uid)
        return self.expectations.satisfied(key)

    def _world(
        self, sts: StatefulSet, pods: Sequence[Pod], revisions: Sequence[ControllerRevision], present: CurrentRevision
    ) -> ObservedState:  # fmt: skip
        update = present.revision
        current_name = sts.status.currentRevision if sts.status else None
        current = next((revision for revision in revisions if name_of(revision) == current_name), update)
        return ObservedState(
            sts=sts,
            pods=tuple(pods),
            claim=partial(self.claims.lister.get, namespace=namespace_of(sts)),
            current=(name_of(current), template_of(current)),
            update=(name_of(update), identity.spec_of(sts).template),
            now=self.clock.now(),
        )

    async def _apply(self, key: str, world: ObservedState, actions: Sequence[Action]) -> Exception | None:
        """Execute the actions sequentially, or in growing batches for a Parallel set; return the error, if any."""
        deleted = [uid_of(action.pod) for action in actions if isinstance(action, DeletePod)]
        if deleted:
            self.expectations.expect(key, deletions=deleted)
        tried: set[int] = set()

        async def one(number: int) -> None:
            tried.add(number)
            await self._do(key, world.sts, actions[number])

        try:
            if not world.ordered:
                done = await slow_start_batch(len(actions), one)
                return done.errors[0] if done.errors else None
            for number in range(len(actions)):
                await one(number)
        except Exception as error:  # noqa: BLE001 — returned, and raised by the reconcile after the status is written
            return error
        finally:
            for number, action in enumerate(actions):
                if isinstance(action, DeletePod) and number not in tried:
                    self.expectations.deletion_observed(key, uid_of(action.pod))
        return None

    async def _do(self, key: str, sts: StatefulSet, action: Action) -> None:
        match action:
            case MakeClaim(claim=claim, pod=pod):
                await self._make_claim(key, sts, claim, pod)
            case ChangeClaim(claim=claim, pod=pod):
                await self._change_claim(key, sts, claim, pod)
            case ReportController(claim=claim):
                message = (
                    f"PersistentVolumeClaim {name_of(claim)} has a conflicting OwnerReference that acts as a manging "
                    "controller, the retention policy is ignored for this claim"
                )
                self.events.event(sts, "Warning", "ConflictingController", message)
            case MakePod():
                await self._make_pod(key, sts, action)
            case ChangePod(pod=pod):
                await self._change_pod(key, sts, pod)
            case DeletePod(pod=pod):
                await self._delete_pod(key, sts, pod)
            case _:
                assert_never(action)

    # Writing

    async def _make_claim(self, key: str, sts: StatefulSet, claim: PersistentVolumeClaim, pod: Pod) -> None:
        action = f"Create Claim {name_of(claim)}"
        try:
            created = await self.client.create(claim)
        except AlreadyExists:
            return  # the cache is stale; an existing claim is used unchanged
        except Exception as error:
            if is_namespace_terminating(error):
                raise
            message = f"{action} for Pod {name_of(pod)} in StatefulSet {name_of(sts)} failed error: {error}"
            self.events.event(sts, "Warning", "FailedCreate", message)
            raise
        self.own_writes.note(key, self.claims, created)
        message = f"{action} Pod {name_of(pod)} in StatefulSet {name_of(sts)} success"
        self.events.event(sts, "Normal", "SuccessfulCreate", message)

    async def _change_claim(self, key: str, sts: StatefulSet, claim: PersistentVolumeClaim, pod: Pod) -> None:
        try:
            self.own_writes.note(key, self.claims, await self.client.update(claim))
        except NotFound:
            return
        except Conflict:
            raise
        except Exception as error:
            detail = f"could not update claim {name_of(claim)} for delete policy ownerRefs: {error}"
            self._record(sts, "update", pod, detail)
            raise

    async def _make_pod(self, key: str, sts: StatefulSet, action: MakePod) -> None:
        try:
            await self._make_claims(key, sts, action)
            created = await self.client.create(action.pod)
        except AlreadyExists as error:
            await self._accept_existing_pod(key, sts, action.pod, error)
            return
        except Exception as error:
            if not is_namespace_terminating(error):
                self._record(sts, "create", action.pod, error)
            if isinstance(error, _ClaimError) and not error.is_retried:
                return
            raise
        self.own_writes.note(key, self.pods, created)
        self._record(sts, "create", created, None)

    async def _make_claims(self, key: str, sts: StatefulSet, action: MakePod) -> None:
        """Create all claims of a Pod. Raises _ClaimError with the errors of all of them."""
        errors: list[str] = []
        for claim in action.claims:
            try:
                await self._make_claim(key, sts, claim.claim, action.pod)
            except ApiError as error:
                if is_namespace_terminating(error):
                    raise
                errors.append(f"failed to create PVC {name_of(claim.claim)}: {error}")
        if errors or action.claim_errors:
            raise _ClaimError(join_messages([*action.claim_errors, *errors]), is_retried=bool(errors))

    async def _accept_existing_pod(self, key: str, sts: StatefulSet, pod: Pod, error: Exception) -> None:
        """Accept an existing Pod of the set that the cache lacks; otherwise raise ``error`` until that Pod is deleted."""
        existing = await self.client.get(Pod, name_of(pod), namespace=namespace_of(pod))
        if not is_controlled_by(existing, sts):
            raise error
        self.own_writes.note(key, self.pods, existing)

    async def _change_pod(self, key: str, sts: StatefulSet, pod: Pod) -> None:
        try:
            written = await self.client.update(pod)
        except NotFound:
            return
        except Conflict:
            raise
        except Exception as error:
            self._record(sts, "update", pod, error)
            raise
        self.own_writes.note(key, self.pods, written)
        self._record(sts, "update", pod, None)

    async def _delete_pod(self, key: str, sts: StatefulSet, pod: Pod) -> None:
        try:
            await self.client.delete(Pod, name_of(pod), namespace=namespace_of(pod), uid=uid_of(pod))
        except Exception as error:
            self.expectations.deletion_observed(key, uid_of(pod))
            if await is_deleted(self.client, pod, error):
                return
            self._record(sts, "delete", pod, error)
            raise
        self._record(sts, "delete", pod, None)

    def _record(self, sts: StatefulSet, verb: str, pod: Pod, error: Exception | str | None) -> None:
        subject = f"{verb.title()} Pod {name_of(pod)} in StatefulSet {name_of(sts)}"
        if error is None:
            self.events.event(sts, "Normal", f"Successful{verb.title()}", f"{subject} successful")
        else:
            self.events.event(sts, "Warning", f"Failed{verb.title()}", f"{subject} failed error: {error}")

    async def _clean_history(
        self, world: ObservedState, revisions: Sequence[ControllerRevision], present: CurrentRevision
    ) -> None:
        """Delete unused revisions beyond ``revisionHistoryLimit``."""
        living = {world.current[0], world.update[0], *map(identity.revision_of, world.pods)}
        unused = [revision for revision in in_order(revisions) if name_of(revision) not in living]
        limit = identity.spec_of(world.sts).revisionHistoryLimit
        if not is_being_deleted(world.sts):
            await self.revisions.delete(superfluous(unused, keep=10 if limit is None else limit))

    async def _write_status(self, key: str, sts: StatefulSet, status: StatefulSetStatus) -> None:
        if not needs_write(sts.status, status):
            return
        try:
            written = await self.client.update_status(replaced(sts, status=status))
        except NotFound:
            pass
        else:
            self.own_writes.note(key, self.sets, written)


class _ClaimError(Exception):
    """A claim of the Pod is terminating, or could not be created.

    The deletion of a terminating claim enqueues the set; other errors are retried.
    """

    def __init__(self, message: str, *, is_retried: bool) -> None:
        super().__init__(message)
        self.is_retried: Final = is_retried


def _selector(sts: StatefulSet) -> LabelSelector:
    return from_label_selector(msgspec.to_builtins(identity.spec_of(sts).selector))


def build(context: ControllerContext) -> StatefulSetController:
    """Construct the controller."""
    return StatefulSetController(context)
