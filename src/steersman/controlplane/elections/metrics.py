"""What elections count. Names are ours: upstream has none that say why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from prometheus_client import Counter

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry


class ElectionMetrics:
    """Made once for a registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        #: Decisions, also those that change nothing.
        self.decisions: Final = Counter(
            "steersman_election_decisions_total",
            "Steps of elections, by what they came to",
            ("reason",),
            registry=registry,
        )
        #: ``result``: ``sent``, ``answered`` (before it could be sent), ``failed``.
        self.pings: Final = Counter(
            "steersman_election_pings_total", "Candidates asked whether they live", ("result",), registry=registry
        )
        #: Writes that came too late, so that the step was taken again.
        self.lost_races: Final = Counter(
            "steersman_election_lost_races_total", "Decisions that somebody else's write made void", registry=registry
        )
        #: Changes of a holder that this server wrote.
        self.leader_changes: Final = Counter(
            "steersman_election_leader_changes_total",
            "Leases given to a candidate",
            ("namespace", "name"),
            registry=registry,
        )
        #: Candidates removed because they had not renewed for long.
        self.collected: Final = Counter(
            "steersman_election_candidates_collected_total", "Candidates removed as expired", registry=registry
        )
