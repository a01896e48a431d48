"""Metrics of coordinated leader election. Upstream has no counterparts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from prometheus_client import Counter

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry


class ElectionMetrics:
    """Metric families of one registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        #: Decisions, including those without a write.
        self.decisions: Final = Counter(
            "steersman_election_decisions_total",
            "Steps of elections, by what they came to",
            ("reason",),
            registry=registry,
        )
        #: ``result``: ``sent``, ``answered`` (the candidate changed before the ping), ``failed``.
        self.pings: Final = Counter(
            "steersman_election_pings_total", "Candidates asked whether they live", ("result",), registry=registry
        )
        #: Writes rejected with a conflict; the step is retried.
        self.lost_races: Final = Counter(
            "steersman_election_lost_races_total",
            "Decisions discarded because of a conflicting write",
            registry=registry,
        )
        #: Assignments written by this server.
        self.leader_changes: Final = Counter(
            "steersman_election_leader_changes_total",
            "Leases given to a candidate",
            ("namespace", "name"),
            registry=registry,
        )
        #: Deleted expired candidates.
        self.collected: Final = Counter(
            "steersman_election_candidates_collected_total", "Candidates removed as expired", registry=registry
        )
