"""Deletion order of surplus Pods. Pure rules.

The first difference decides; the first-named is deleted first. Upstream: ``controller.ActivePodsWithRanks``.

1. unassigned before assigned

2. Pending before Unknown before Running

3. not ready before ready

4. lower deletion cost (annotation ``controller.kubernetes.io/pod-deletion-cost``)

5. more active Pods of siblings on its node

6. ready for a shorter time, in powers of two; equal powers are ordered by UID, i.e. pseudo-randomly

7. more restarts of a container, then of a sidecar

8. younger, in powers of two as in 6
"""

from __future__ import annotations

import math
from collections import Counter
from functools import cmp_to_key
from typing import TYPE_CHECKING, Final, NamedTuple

from steersman.workloads.pods import (
    deletion_cost,
    is_active,
    is_ready,
    most_restarts,
    node_of,
    phase_of,
    ready_since,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from lightkube.models.core_v1 import Pod

#: Go's zero value of a phase is not among these and has the rank of Pending.
_PHASES: Final = {"Pending": 0, "Unknown": 1, "Running": 2}


class _Rank(NamedTuple):
    """Sort attributes of a Pod, computed once."""

    pod: Pod
    #: Rules 1 to 5; the smaller is deleted first.
    first: tuple[bool, int, bool, int, int]
    ready_since: datetime | None
    #: Negative: the more restarts, the smaller.
    restarts: tuple[int, int]
    created: datetime | None
    uid: str


def in_deletion_order(pods: Sequence[Pod], related: Iterable[Pod], *, now: datetime) -> list[Pod]:
    """Return the Pods in the order of deletion. ``related``: see ``plan.plan_replicas``."""
    active_by_node = Counter(node_of(pod) for pod in related if is_active(pod))
    ranks = [_rank(pod, active_by_node) for pod in pods]

    def compare(one: _Rank, other: _Rank) -> int:
        if one.first != other.first:
            return -1 if one.first < other.first else 1
        if one.ready_since != other.ready_since:
            return _by_age(one, other, one.ready_since, other.ready_since, now)
        if one.restarts != other.restarts:
            return -1 if one.restarts < other.restarts else 1
        if one.created != other.created:
            return _by_age(one, other, one.created, other.created, now)
        return 0

    return [rank.pod for rank in sorted(ranks, key=cmp_to_key(compare))]


def _rank(pod: Pod, active_by_node: Counter[str]) -> _Rank:
    node = node_of(pod)
    regular, sidecar = most_restarts(pod)
    metadata = pod.metadata
    return _Rank(
        pod,
        (bool(node), _PHASES.get(phase_of(pod), 0), is_ready(pod), deletion_cost(pod), -active_by_node[node]),
        ready_since(pod),
        (-regular, -sidecar),
        metadata.creationTimestamp if metadata else None,
        (metadata.uid if metadata else None) or "",
    )


def _by_age(one: _Rank, other: _Rank, since: datetime | None, other_since: datetime | None, now: datetime) -> int:
    """Compare two times: the later one first; a missing time before all others."""
    if since is None or other_since is None:
        return -1 if since is None else 1
    difference = _power(since, now) - _power(other_since, now)
    if difference:
        return difference
    return -1 if one.uid < other.uid else 1


def _power(since: datetime, now: datetime) -> int:
    """Return the binary logarithm of the elapsed nanoseconds, rounded down; -1 for none."""
    passed = now - since
    microseconds = (passed.days * 86_400 + passed.seconds) * 1_000_000 + passed.microseconds
    return int(math.log2(microseconds * 1000)) if microseconds > 0 else -1
