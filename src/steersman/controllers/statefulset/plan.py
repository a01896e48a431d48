"""Next actions for a StatefulSet. Pure rules of ``stateful_set_control.go``.

Replicas are processed first, from the lowest ordinal; then condemned Pods, from the highest; then the update, from the
highest. With OrderedReady each step waits for the ones before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.intstr import scaled_value
from steersman.client.objects import name_of, uid_of
from steersman.controllers.statefulset import identity
from steersman.runtime.finalizers import is_being_deleted
from steersman.workloads.pods import is_available, is_finished, is_ready, phase_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from lightkube.models.apps_v1 import StatefulSet
    from lightkube.models.core_v1 import PersistentVolumeClaim, Pod, PodTemplateSpec

#: Maximum number of Pods created in one reconcile.
BURST: Final = 500


@dataclass(frozen=True, slots=True)
class MakeClaim:
    """Create a claim for a Pod."""

    claim: PersistentVolumeClaim
    pod: Pod


@dataclass(frozen=True, slots=True)
class ChangeClaim:
    """Update the owner references of a claim."""

    claim: PersistentVolumeClaim
    pod: Pod


@dataclass(frozen=True, slots=True)
class ReportController:
    """Record that another controller manages a claim, whose retention policy is ignored."""

    claim: PersistentVolumeClaim
    pod: Pod


@dataclass(frozen=True, slots=True)
class MakePod:
    """Create a Pod, after its claims."""

    pod: Pod
    claims: tuple[MakeClaim, ...]
    #: Why the Pod cannot be created; empty if it can. The claims are created even so.
    claim_errors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChangePod:
    """Update a Pod's identity or storage."""

    pod: Pod


@dataclass(frozen=True, slots=True)
class DeletePod:
    """Delete a Pod."""

    pod: Pod


Action = MakeClaim | ChangeClaim | ReportController | MakePod | ChangePod | DeletePod


@dataclass(frozen=True, slots=True)
class ObservedState:
    """A StatefulSet and its Pods and claims."""

    sts: StatefulSet
    pods: tuple[Pod, ...]
    #: Returns a claim of the namespace; None if absent.
    claim: Callable[[str], PersistentVolumeClaim | None]
    #: Templates by revision name.
    current: tuple[str, PodTemplateSpec]
    update: tuple[str, PodTemplateSpec]
    now: datetime

    @property
    def ordered(self) -> bool:
        """True if Pods wait for each other."""
        return identity.spec_of(self.sts).podManagementPolicy != "Parallel"

    def runs(self, pod: Pod) -> bool:
        """Report whether the Pod is running and ready."""
        return phase_of(pod) == "Running" and is_ready(pod)

    def is_available(self, pod: Pod) -> bool:
        """Report whether the Pod has been ready for ``minReadySeconds``."""
        least = identity.spec_of(self.sts).minReadySeconds or 0
        return self.runs(pod) and is_available(pod, least, now=self.now)

    def serves(self, pod: Pod) -> bool:
        """Report whether the Pod is available and not terminating."""
        return self.is_available(pod) and not is_being_deleted(pod)


def plan(world: ObservedState) -> list[Action]:
    """Return the next actions, in order."""
    if is_being_deleted(world.sts):
        return []
    actions, should_continue = _replica_actions(world)
    if not should_continue:
        return actions
    condemned = _condemned(world)
    for pod in condemned:
        actions += _own_claims(world, pod)
    removals, should_continue = _removals(world, condemned)
    actions += removals
    if should_continue:
        actions += _updates(world)
    return actions


def _by_ordinal(world: ObservedState) -> dict[int, Pod]:
    return {identity.ordinal_of(pod): pod for pod in world.pods}


def _condemned(world: ObservedState) -> list[Pod]:
    """Return the Pods outside the desired ordinals, the highest first."""
    ordinals = identity.ordinals(world.sts)
    pods_by_ordinal = _by_ordinal(world)
    return [
        pods_by_ordinal[ordinal]
        for ordinal in sorted(pods_by_ordinal, reverse=True)
        if ordinal >= 0 and ordinal not in ordinals
    ]


# Replicas


def _replica_actions(world: ObservedState) -> tuple[list[Action], bool]:
    """Create missing Pods and update existing ones; return the actions, and whether later steps may continue.

    At most ``BURST`` Pods are created; their events start the next reconcile.
    """
    present = _by_ordinal(world)
    actions: list[Action] = []
    should_continue = True
    creations = 0
    for ordinal in identity.ordinals(world.sts):
        pod = present.get(ordinal)
        creations += pod is None
        if creations > BURST:
            break
        mine, waits = _make(world, ordinal) if pod is None else _maintain(world, pod)
        actions += mine
        if waits and world.ordered:
            return actions, False
        should_continue &= not (pod is None or is_finished(pod))
    return actions, should_continue or not world.ordered


def _maintain(world: ObservedState, pod: Pod) -> tuple[list[Action], bool]:
    """Return the actions for an existing Pod, and whether other Pods must wait for it."""
    if is_finished(pod):
        return ([] if is_being_deleted(pod) else [DeletePod(pod)]), True
    actions: list[Action] = []
    is_pending = phase_of(pod) == "Pending"
    changes = _own_claims(world, pod, reports=is_pending)
    if is_pending:
        actions += [*_missing_claims(world, pod)[0], *changes]
        changes = []
    if world.ordered and (is_being_deleted(pod) or not world.is_available(pod)):
        return actions, True
    if changes or not identity.has_identity(pod) or not identity.has_storage(pod, world.sts):
        actions += [action for action in _missing_claims(world, pod)[0] if action not in actions]
        # A Pod is also written if only its claims differ, which records the event ``SuccessfulUpdate``.
        actions += [*changes, ChangePod(identity.with_storage(identity.with_identity(pod), world.sts))]
    return actions, False


def _make(world: ObservedState, ordinal: int) -> tuple[list[Action], bool]:
    revision, template = world.current if _needs_current(world, ordinal) else world.update
    pod = identity.new_pod(world.sts, template, revision, ordinal)
    claims = [world.claim(name_of(claim)) for claim in identity.claims_of(world.sts, pod).values()]
    if identity.deletes_claims_when_scaled(world.sts) and any(
        claim and identity.is_stale(claim, pod) for claim in claims
    ):
        return [], True  # deleted with the preceding Pod; both are recreated
    missing, claim_errors = _missing_claims(world, pod)
    return [MakePod(pod, tuple(missing), tuple(claim_errors)), *_own_claims(world, pod, reports=True)], True


def _needs_current(world: ObservedState, ordinal: int) -> bool:
    """Report whether an ordinal below the partition keeps the current revision."""
    strategy = identity.spec_of(world.sts).updateStrategy
    if strategy is not None and strategy.type not in (None, "RollingUpdate"):
        return False
    start = identity.ordinals(world.sts).start
    rolling = strategy.rollingUpdate if strategy else None
    if rolling is None:
        return ordinal < start + ((world.sts.status.currentReplicas if world.sts.status else None) or 0)
    return ordinal < start + (rolling.partition or 0)


def _missing_claims(world: ObservedState, pod: Pod) -> tuple[list[MakeClaim], list[str]]:
    """Return the claims to create, and why the Pod has to wait for terminating ones."""
    missing: list[MakeClaim] = []
    claim_errors: list[str] = []
    for claim in identity.claims_of(world.sts, pod).values():
        present = world.claim(name_of(claim))
        if present is None:
            missing.append(MakeClaim(identity.with_owner(claim, world.sts, pod), pod))
        elif is_being_deleted(present):
            claim_errors.append(f"pvc {name_of(claim)} is being deleted")
    return missing, claim_errors


def _own_claims(world: ObservedState, pod: Pod, *, reports: bool = False) -> list[ChangeClaim | ReportController]:
    """Return the updates of the owners of a Pod's claims, with reports of other controllers.

    Without ``reports`` these come only with an update.
    """
    actions: list[ChangeClaim | ReportController] = []
    for claim in identity.claims_of(world.sts, pod).values():
        existing = world.claim(name_of(claim))
        if existing is None:
            continue
        if identity.has_unexpected_controller(existing, world.sts, pod):
            actions.append(ReportController(existing, pod))
        if (owned := identity.with_owner(existing, world.sts, pod)) is not existing:
            reports = True
            actions.append(ChangeClaim(owned, pod))
    return actions if reports else []


# Condemned Pods


def _removals(world: ObservedState, condemned: Sequence[Pod]) -> tuple[list[Action], bool]:
    if not world.ordered:
        return [DeletePod(pod) for pod in condemned if not is_being_deleted(pod)], True
    if not condemned:
        return [], True
    pod = condemned[0]
    if is_being_deleted(pod):
        return [], False
    # An unhealthy Pod may be deleted only if no other one is unhealthy.
    blocked = not world.is_available(pod) and uid_of(pod) != _first_missed(world, condemned)
    return ([] if blocked else [DeletePod(pod)]), False


def _first_missed(world: ObservedState, condemned: Sequence[Pod]) -> str:
    """Return the UID of the lowest unhealthy Pod, replicas before condemned ones."""
    present = _by_ordinal(world)
    ordinals = identity.ordinals(world.sts)
    living = [present[ordinal] for ordinal in sorted(present) if ordinal in ordinals]
    return next((uid_of(pod) for pod in (*living, *reversed(condemned)) if not world.serves(pod)), "")


# Updates


def _updates(world: ObservedState) -> list[Action]:
    """Delete Pods of other revisions, the highest first, to be recreated at the update revision."""
    strategy = identity.spec_of(world.sts).updateStrategy
    if strategy is not None and strategy.type == "OnDelete":
        return []
    ordinals = identity.ordinals(world.sts)
    rolling = strategy.rollingUpdate if strategy else None
    partition = (rolling.partition if rolling else None) or 0
    present = _by_ordinal(world)
    targets = range(ordinals.start + partition, ordinals.stop)
    if rolling is None or rolling.maxUnavailable is None:
        return _next_update(world, map(present.get, reversed(targets)))
    existing = [present[ordinal] for ordinal in sorted(present, reverse=True) if ordinal in targets]
    spare = max_unavailable(rolling.maxUnavailable, len(ordinals)) - (len(targets) - len(existing))
    return _updates_within(world, existing, spare)


def _next_update(world: ObservedState, targets: Iterable[Pod | None]) -> list[Action]:
    """Return one Pod to update once all above it are healthy. ``targets``: the highest first."""
    for pod in targets:
        if pod is not None and _is_old(world, pod):
            return [DeletePod(pod)]
        if pod is None or not world.serves(pod):
            return []
    return []


def _updates_within(world: ObservedState, pods: Sequence[Pod], most: int) -> list[Action]:
    """Return Pods to update with at most ``most`` unavailable, updated ones included (KEP-961)."""
    old = [pod for pod in pods if _is_old(world, pod)]
    unavailable = sum(not (_is_old(world, pod) or world.serves(pod)) for pod in pods)
    return [DeletePod(pod) for pod in old[: max(0, most - unavailable)]]


def _is_old(world: ObservedState, pod: Pod) -> bool:
    """Report whether the Pod has another revision and is not terminating."""
    return identity.revision_of(pod) != world.update[0] and not is_being_deleted(pod)


def max_unavailable(setting: int | str, replicas: int) -> int:
    """Return ``maxUnavailable`` as a number; at least 1."""
    return max(1, scaled_value(setting, replicas, round_up=True))
