"""Replicas of each ReplicaSet of a Deployment. Pure rules of ``deployment/util``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.intstr import scaled_value
from steersman.controllers.deployment.revisions import by_age, by_revision, desired_annotation, max_annotation
from steersman.runtime.finalizers import is_being_deleted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lightkube.models.apps_v1 import Deployment, ReplicaSet

ROLLING_UPDATE: Final = "RollingUpdate"
RECREATE: Final = "Recreate"
#: A history limit or deadline of this value is unlimited: old clients wrote it for an unset field.
NO_LIMIT: Final = 2**31 - 1


def desired_replicas(deployment: Deployment) -> int:
    """Return ``spec.replicas``; 1 if unset."""
    replicas = deployment.spec.replicas if deployment.spec else None
    return 1 if replicas is None else replicas


def size(rs: ReplicaSet | None) -> int:
    """Return ``spec.replicas``; 0 for None."""
    if rs is None:
        return 0
    replicas = rs.spec.replicas if rs.spec else None
    return 1 if replicas is None else replicas


def available(rs: ReplicaSet) -> int:
    """Return ``status.availableReplicas``."""
    return (rs.status.availableReplicas if rs.status else None) or 0


def strategy_of(deployment: Deployment) -> str:
    """Return ``spec.strategy.type``."""
    strategy = deployment.spec.strategy if deployment.spec else None
    return (strategy.type if strategy else None) or ROLLING_UPDATE


def fenceposts(max_surge: int | str | None, max_unavailable: int | str | None, replicas: int) -> tuple[int, int]:
    """Return ``maxSurge`` rounded up and ``maxUnavailable`` rounded down.

    If both are 0, one replica may be unavailable, as the rollout could not progress otherwise.
    """
    surge = scaled_value(max_surge or 0, replicas, round_up=True)
    unavailable = scaled_value(max_unavailable or 0, replicas, round_up=False)
    return (surge, unavailable) if surge or unavailable else (0, 1)


def _fenceposts_of(deployment: Deployment) -> tuple[int, int]:
    strategy = deployment.spec.strategy if deployment.spec else None
    rolling = strategy.rollingUpdate if strategy else None
    if rolling is None:
        return fenceposts(None, None, desired_replicas(deployment))
    return fenceposts(rolling.maxSurge, rolling.maxUnavailable, desired_replicas(deployment))


def max_surge(deployment: Deployment) -> int:
    """Return the replicas that a rolling update may add; 0 for other strategies."""
    return _fenceposts_of(deployment)[0] if strategy_of(deployment) == ROLLING_UPDATE else 0


def max_unavailable(deployment: Deployment) -> int:
    """Return the replicas that may be unavailable during a rolling update; 0 for other strategies."""
    if strategy_of(deployment) != ROLLING_UPDATE or desired_replicas(deployment) == 0:
        return 0
    return min(_fenceposts_of(deployment)[1], desired_replicas(deployment))


def new_size(deployment: Deployment, everyone: Iterable[ReplicaSet], current: int) -> int:
    """Return the replicas of the new ReplicaSet, from ``current``; ``everyone`` excludes it if it does not exist."""
    if strategy_of(deployment) == RECREATE:
        return desired_replicas(deployment)
    # The raw value: with maxSurge 0 no replica is added before an old one is removed.
    strategy = deployment.spec.strategy if deployment.spec else None
    surge = (strategy.rollingUpdate.maxSurge if strategy and strategy.rollingUpdate else None) or 0
    most = desired_replicas(deployment) + scaled_value(surge, desired_replicas(deployment), round_up=True)
    present = sum(map(size, everyone))
    if present >= most:
        return current
    return current + min(most - present, desired_replicas(deployment) - current)


def active(sets: Iterable[ReplicaSet | None]) -> list[ReplicaSet]:
    """Return the ReplicaSets with replicas."""
    return [rs for rs in sets if rs is not None and size(rs) > 0]


def active_or_latest(new: ReplicaSet | None, old: Sequence[ReplicaSet]) -> ReplicaSet | None:
    """Return the only active ReplicaSet, or the newest if none is active.

    None if several are active, or none exists.
    """
    active_sets = active([*reversed(by_age(old)), new])
    if len(active_sets) == 1:
        return active_sets[0]
    if active_sets:
        return None
    return new or next(iter(reversed(by_age(old))), None)


def is_saturated(deployment: Deployment, rs: ReplicaSet | None) -> bool:
    """Report whether the ReplicaSet has all replicas, for this size of the Deployment, and all are available."""
    if rs is None:
        return False
    return size(rs) == desired_annotation(rs) == available(rs) == desired_replicas(deployment)


def proportional_sizes(deployment: Deployment, sets: Sequence[ReplicaSet]) -> list[tuple[ReplicaSet, int]]:
    """Distribute a resize over active ReplicaSets in proportion to their sizes.

    Larger ones come first; among equal ones the newer when growing, the older when shrinking. The first receives the rounding
    remainder.
    """
    allowed = desired_replicas(deployment) + max_surge(deployment) if desired_replicas(deployment) > 0 else 0
    to_add = allowed - sum(map(size, sets))
    if to_add == 0:
        return [(rs, size(rs)) for rs in sets]
    ordered = by_age(sets)
    if to_add > 0:
        ordered.reverse()
    ordered.sort(key=lambda rs: -size(rs))
    sizes: list[int] = []
    added = 0
    for rs in ordered:
        share = _proportion(rs, deployment, to_add - added)
        sizes.append(size(rs) + share)
        added += share
    sizes[0] = max(0, sizes[0] + to_add - added)
    return list(zip(ordered, sizes, strict=True))


def _proportion(rs: ReplicaSet, deployment: Deployment, left: int) -> int:
    """Return a ReplicaSet's share of a resize, limited by what is ``left``."""
    if left == 0:
        return 0
    share = _fraction(rs, deployment)
    return min(share, left) if left > 0 else max(share, left)


def _fraction(rs: ReplicaSet, deployment: Deployment) -> int:
    """Return the change that keeps a ReplicaSet's fraction of the Deployment."""
    if desired_replicas(deployment) == 0:
        return -size(rs)
    before = max_annotation(rs)
    if not before:  # the annotation was removed: use the current size
        before = (deployment.status.replicas if deployment.status else None) or 0
    if not before:
        return 0
    grown = size(rs) * (desired_replicas(deployment) + max_surge(deployment)) / before
    return int(grown + 0.5) - size(rs)  # half up, as upstream's ``RoundToInt32``


def unhealthy_reductions(old: Sequence[ReplicaSet], most: int) -> list[tuple[ReplicaSet, int]]:
    """Return new sizes that remove unavailable replicas first, at most ``most``."""
    reductions: list[tuple[ReplicaSet, int]] = []
    for rs in by_age(old):
        reduction = min(most, size(rs) - available(rs))
        if most <= 0:
            break
        if reduction <= 0:
            continue
        reductions.append((rs, size(rs) - reduction))
        most -= reduction
    return reductions


def rolling_reductions(
    deployment: Deployment, new: ReplicaSet, old: Sequence[ReplicaSet]
) -> list[tuple[ReplicaSet, int]]:
    """Return new sizes of old ReplicaSets that keep enough replicas available.

    A ReplicaSet that was scaled down counts with its size, even if its status still reports more. Upstream's
    ``cleanupUnhealthyReplicas`` fails until the status has caught up.
    """
    available_total = sum(min(available(rs), size(rs)) for rs in (*old, new))
    spare = available_total - (desired_replicas(deployment) - max_unavailable(deployment))
    reductions: list[tuple[ReplicaSet, int]] = []
    for rs in by_age(old):
        if spare <= 0:
            break
        reduction = min(size(rs), spare)
        if reduction:
            reductions.append((rs, size(rs) - reduction))
        spare -= reduction
    return reductions


def most_to_reduce(deployment: Deployment, new: ReplicaSet, old: Sequence[ReplicaSet]) -> int:
    """Return how many old replicas may be removed, given the unavailable replicas of the new ReplicaSet."""
    present = sum(map(size, old)) + size(new)
    least = desired_replicas(deployment) - max_unavailable(deployment)
    return present - least - (size(new) - available(new))


def expired_history(deployment: Deployment, old: Sequence[ReplicaSet]) -> list[ReplicaSet]:
    """Return old ReplicaSets without Pods beyond ``revisionHistoryLimit``, lowest revisions first."""
    limit = deployment.spec.revisionHistoryLimit if deployment.spec else None
    if limit is None or limit == NO_LIMIT:
        return []
    alive = [rs for rs in old if not is_being_deleted(rs)]
    surplus = by_revision(alive)[: max(0, len(alive) - limit)]
    return [rs for rs in surplus if _is_idle(rs)]


def _is_idle(rs: ReplicaSet) -> bool:
    status = rs.status
    observed = (status.observedGeneration if status else None) or 0
    generation = (rs.metadata.generation if rs.metadata else None) or 0
    return not (status.replicas if status else 0) and size(rs) == 0 and generation <= observed
