"""All levels and schemas of a server: which flow a request belongs to, and how the seats move among levels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apiserver.flowcontrol.counts import FlowCounts
from steersman.apiserver.flowcontrol.levels import PriorityLevel
from steersman.apiserver.flowcontrol.schemas import FlowSchema
from steersman.apiserver.flowcontrol.shares import Claim, allocate, limits_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.apiserver.flowcontrol.schemas import PolicyRule
    from steersman.apiserver.request import RequestInfo, UserInfo

    Tree = dict[str, Any]

#: Users whose schemas are remembered; emptied when full.
_USERS_MAX: Final = 4096
#: Where requests go that no schema is about, which only a server without mandatory objects has.
_CATCH_ALL: Final = "catch-all"


class Flow:
    """A schema and its level, as the filter needs them."""

    __slots__ = ("counts", "headers", "level", "schema")

    def __init__(self, schema: FlowSchema, level: PriorityLevel, counts: FlowCounts) -> None:
        self.schema: Final = schema
        self.level: Final = level
        self.counts: Final = counts
        #: Of every answer.
        self.headers: Final = [
            (b"x-kubernetes-pf-flowschema-uid", schema.uid.encode("latin-1", "replace")),
            (b"x-kubernetes-pf-prioritylevel-uid", level.uid.encode("latin-1", "replace")),
        ]


class FlowControl:
    """Priority and fairness of one server."""

    def __init__(self, *, seats: int, mandatory_schemas: Sequence[Tree], mandatory_levels: Sequence[Tree]) -> None:
        """``seats``: how much may run at once in all. The mandatory objects stand in for those that are not stored."""
        self._seats: Final = seats
        self._mandatory_schemas: Final = mandatory_schemas
        self._mandatory_levels: Final = mandatory_levels
        self.levels: dict[str, PriorityLevel] = {}
        self._flows: list[Flow] = []
        #: By schema and level: they outlive the objects, as counters must not go back.
        self.counts: Final[dict[tuple[str, str], FlowCounts]] = {}
        #: By name and groups of a user: the flows that it may be in, and the rules that say so.
        self._candidates: Final[dict[tuple[str, tuple[str, ...]], list[tuple[Flow, tuple[PolicyRule, ...]]]]] = {}
        #: Proportion of what they want that levels got last.
        self.fair_proportion = 1.0
        self.targets: dict[str, float] = {}

    def configure(self, schemas: Sequence[Tree], levels: Sequence[Tree], *, now: float) -> None:
        """Go by these objects from now on. A level that is no more is left to those who are in it."""
        trees = {tree["metadata"]["name"]: tree for tree in (*self._mandatory_levels, *levels)}
        specs = {name: tree.get("spec") or {} for name, tree in trees.items()}
        limits = limits_of(specs, total=self._seats)
        kept = {}
        for name, tree in trees.items():
            level = self.levels.get(name) or PriorityLevel(name, now=now)
            level.configure(specs[name], limits[name], uid=tree["metadata"].get("uid", ""), now=now)
            kept[name] = level
        self.levels = kept
        named = {tree["metadata"]["name"]: tree for tree in (*self._mandatory_schemas, *schemas)}
        read = sorted(map(FlowSchema, named.values()), key=lambda schema: (schema.precedence, schema.name))
        # a schema whose level is not there counts for nothing until it comes
        self._flows = [self._flow(schema, kept[schema.level]) for schema in read if schema.level in kept]
        self._candidates.clear()

    def _flow(self, schema: FlowSchema, level: PriorityLevel) -> Flow:
        counts = self.counts.setdefault((schema.name, level.name), FlowCounts())
        return Flow(schema, level, counts)

    def classify(self, user: UserInfo, info: RequestInfo) -> Flow:
        """The flow of a request: of the first schema that is about it."""
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
        found = [(flow, rules) for flow in self._flows if (rules := flow.schema.rules_of(user))]
        self._candidates[key] = found
        return found

    def adjust(self, now: float) -> None:
        """Lend the seats that levels have not needed of late to those that do (every few seconds)."""
        limited = [level for level in self.levels.values() if not level.exempt]
        claims = []
        for level in limited:
            peak = level.demand.end_period(now)
            limits = level.limits
            lower = max(limits.lower, min(limits.nominal, peak))
            claims.append(Claim(lower, limits.upper, max(lower, level.demand.smoothed)))
        if not claims:
            return
        seats, self.fair_proportion = allocate(claims, total=sum(level.limits.nominal for level in limited))
        self.targets = {level.name: claim.target for level, claim in zip(limited, claims, strict=True)}
        for level, number in zip(limited, seats, strict=True):
            level.resize(round(number), now)
