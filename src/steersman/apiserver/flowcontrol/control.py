"""Flow control of a server: classification of requests into flows, and borrowing of seats between priority levels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apiserver.flowcontrol.counts import FlowCounts
from steersman.apiserver.flowcontrol.levels import PriorityLevel
from steersman.apiserver.flowcontrol.schemas import FlowSchema
from steersman.apiserver.flowcontrol.shares import SeatClaim, allocate, limits_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.flowcontrol.levels import Waiting
    from steersman.apiserver.flowcontrol.schemas import PolicyRule
    from steersman.apiserver.request import RequestInfo, UserInfo


#: Maximum number of users with memoized schemas; cleared when exceeded.
_USERS_MAX: Final = 4096
#: Schema of requests that match no other; one of the mandatory objects.
_CATCH_ALL: Final = "catch-all"


class Flow:
    """A FlowSchema with its priority level and counters."""

    __slots__ = ("counts", "headers", "level", "schema")

    def __init__(self, schema: FlowSchema, level: PriorityLevel, counts: FlowCounts) -> None:
        self.schema: Final = schema
        self.level: Final = level
        self.counts: Final = counts
        #: Headers of every response.
        self.headers: Final = [
            (b"x-kubernetes-pf-flowschema-uid", schema.uid.encode("latin-1", "replace")),
            (b"x-kubernetes-pf-prioritylevel-uid", level.uid.encode("latin-1", "replace")),
        ]


class FlowRequest:
    """A request that waits or executes; times are monotonic."""

    __slots__ = ("arrived", "flow", "info", "seats", "started", "user", "waited")

    def __init__(  # noqa: PLR0917 — a call by position costs less
        self,
        flow: Flow,
        user: UserInfo,
        info: RequestInfo,
        seats: int,
        arrived: float,
        started: float | None,
        waited: Waiting | None,
    ) -> None:
        """``started``: None while it waits. ``waited``: its queue entry; None if it started immediately."""
        self.flow: Final = flow
        self.user: Final = user
        self.info: Final = info
        self.seats: Final = seats
        self.arrived: Final = arrived
        self.started: Final = started
        self.waited: Final = waited

    @property
    def queue_number(self) -> int:
        """Number of its queue, -1 if it was not queued."""
        return -1 if self.waited is None else self.waited.queue_number


class FlowControl:
    """Priority and fairness of one server."""

    def __init__(self, *, seats: int, mandatory_schemas: Sequence[Tree], mandatory_levels: Sequence[Tree]) -> None:
        """``seats``: concurrency limit of the server. The mandatory objects apply where they are not stored."""
        self._seats: Final = seats
        self._mandatory_schemas: Final = mandatory_schemas
        self._mandatory_levels: Final = mandatory_levels
        self.levels: dict[str, PriorityLevel] = {}
        self._flows: list[Flow] = []
        #: Counters by schema and level; kept after the objects are deleted, because counters must not decrease.
        self.counts: Final[dict[tuple[str, str], FlowCounts]] = {}
        #: Requests that wait, by queue entry, and that execute, each by a key of its own.
        self.waiting: Final[dict[Waiting, FlowRequest]] = {}
        self.executing: Final[dict[object, FlowRequest]] = {}
        #: Candidate flows and their matching rules, by name and groups of a user.
        self._candidates: Final[dict[tuple[str, tuple[str, ...]], list[tuple[Flow, tuple[PolicyRule, ...]]]]] = {}
        #: Fair fraction of the last adjustment.
        self.fair_proportion = 1.0
        self.targets: dict[str, float] = {}

    def configure(self, schemas: Sequence[Tree], levels: Sequence[Tree], *, now: float) -> None:
        """Apply these objects. A removed level is quiescing: it keeps its share of seats until it is idle.

        Upstream: ``cfgMeal.processOldPLsLocked``.
        """
        trees = {tree["metadata"]["name"]: tree for tree in (*self._mandatory_levels, *levels)}
        levels_by_name = {name: self.levels.get(name) or PriorityLevel(name, now=now) for name in trees}
        for name, tree in trees.items():
            level = levels_by_name[name]
            level.uid, level.spec, level.is_quiescing = tree["metadata"].get("uid", ""), tree.get("spec") or {}, False
        removed = {name: level for name, level in self.levels.items() if name not in trees and not level.is_idle}
        for level in removed.values():
            level.is_quiescing = True
        self.levels = levels_by_name | removed
        self._share_seats(now)
        named = {tree["metadata"]["name"]: tree for tree in (*self._mandatory_schemas, *schemas)}
        read = sorted(map(FlowSchema, named.values()), key=lambda schema: (schema.precedence, schema.name))
        # a dangling schema is ignored until its level exists
        self._flows = [
            self._flow(schema, levels_by_name[schema.level]) for schema in read if schema.level in levels_by_name
        ]
        self._candidates.clear()

    def _share_seats(self, now: float) -> None:
        """Divide the seats of the server among the levels by their specs."""
        limits = limits_of({name: level.spec for name, level in self.levels.items()}, total=self._seats)
        for name, level in self.levels.items():
            level.configure(level.spec, limits[name], uid=level.uid, now=now)

    def _flow(self, schema: FlowSchema, level: PriorityLevel) -> Flow:
        counts = self.counts.setdefault((schema.name, level.name), FlowCounts())
        return Flow(schema, level, counts)

    def classify(self, user: UserInfo, info: RequestInfo) -> Flow:
        """Return the flow of a request: that of the first matching schema."""
        key = (user.name, user.groups)
        for flow, rules in self._candidates.get(key) or self._candidates_of(key, user):
            for rule in rules:
                if rule.match(info):
                    return flow
        return next(flow for flow in self._flows if flow.schema.name == _CATCH_ALL)

    def _candidates_of(
        self, key: tuple[str, tuple[str, ...]], user: UserInfo
    ) -> list[tuple[Flow, tuple[PolicyRule, ...]]]:
        if len(self._candidates) >= _USERS_MAX:
            self._candidates.clear()
        candidates = [(flow, rules) for flow in self._flows if (rules := flow.schema.rules_of(user))]
        self._candidates[key] = candidates
        return candidates

    def adjust(self, now: float) -> None:
        """Move unused seats to levels with demand, and remove levels that have quiesced; called periodically."""
        remaining = {name: level for name, level in self.levels.items() if not (level.is_quiescing and level.is_idle)}
        if len(remaining) < len(self.levels):
            self.levels = remaining
            self._share_seats(now)
        limited = [level for level in self.levels.values() if not level.exempt]
        claims = []
        for level in limited:
            peak = level.demand.end_period(now)
            limits = level.limits
            lower = max(limits.lower, min(limits.nominal, peak))
            claims.append(SeatClaim(lower, limits.upper, max(lower, level.demand.smoothed)))
        if not claims:
            return
        seats, self.fair_proportion = allocate(claims, total=sum(level.limits.nominal for level in limited))
        self.targets = {level.name: claim.target for level, claim in zip(limited, claims, strict=True)}
        for level, number in zip(limited, seats, strict=True):
            level.resize(round(number), now)
