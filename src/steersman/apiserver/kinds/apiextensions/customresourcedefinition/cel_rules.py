"""Compilation and cost estimation of CEL rules (``x-kubernetes-validations``) during validation of schemas."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Final, NamedTuple

from steersman.apimachinery import field
from steersman.apimachinery.field import Path  # noqa: TC001 — a field of a named tuple
from steersman.apiserver.kinds.shared.go_form import go_form
from steersman.cel.loading import load

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.cel.schema_rules import Rule

_RULES: Final = "x-kubernetes-validations"
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
#: Limits of the estimated cost per expression and per schema.
_COST_LIMIT: Final = 10_000_000
_TOTAL_COST_LIMIT: Final = 100_000_000
#: Number of most expensive expressions listed when the total cost is exceeded.
_EXPENSIVE_MAX: Final = 4
_UINT_MAX: Final = 2**64 - 1
_CONTRIBUTED: Final = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
_TOTAL: Final = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"


class _Place(NamedTuple):
    """Position of a schema in the object."""

    is_resource: bool = True
    #: Maximum number of values; None if unbounded.
    cardinality: int | None = 1
    #: Enclosing list whose items cannot be correlated with old ones, which forbids transition rules.
    uncorrelated: Path | None = None


def has_rules(schema: object) -> bool:
    """Report whether a schema has any rule."""
    if isinstance(schema, dict):
        return bool(schema.get(_RULES)) or any(map(has_rules, schema.values()))
    return isinstance(schema, list) and any(map(has_rules, schema))


def validate_rules(schema: Tree, path: Path, faults: Sequence[FieldError]) -> Iterator[FieldError]:
    """Validate all rules of a schema. Rules at or below schemas with other ``faults`` are not compiled."""
    if has_rules(schema):
        checker = _Checker([fault.field for fault in faults])
        yield from checker.check(schema, path, _Place())
        yield from checker.check_total(path)


class _Checker:
    def __init__(self, faulty: Sequence[str]) -> None:
        self._faulty: Final = sorted(faulty)
        self._costs: list[tuple[int, Path]] = []

    def check(self, schema: Tree, path: Path, place: _Place) -> Iterator[FieldError]:
        """Validate a schema after its subschemas."""
        below = place._replace(is_resource=False)
        others, items = schema.get("additionalProperties"), schema.get("items")
        if isinstance(others, dict):
            yield from self._check_below(others, path.child("additionalProperties"), schema.get("maxProperties"), below)
        for name, part in (schema.get("properties") or {}).items():
            inner = below._replace(is_resource=bool(part.get(_EMBEDDED)))
            yield from self.check(part, path.child("properties").key(name), inner)
        if isinstance(items, dict):
            if schema.get("x-kubernetes-list-type") != "map":
                below = below._replace(uncorrelated=place.uncorrelated or path)
            yield from self._check_below(items, path.child("items"), schema.get("maxItems"), below)
        rules = schema.get(_RULES) or ()
        text = str(path)
        if rules and not self._is_faulty(text):
            yield from self._check_rules(rules, schema, path, place)

    def _is_faulty(self, prefix: str) -> bool:
        """Report whether a schema at or below a path has errors."""
        position = bisect_left(self._faulty, prefix)
        return position < len(self._faulty) and self._faulty[position].startswith(prefix)

    def _check_below(self, schema: Tree, path: Path, most: int | None, place: _Place) -> Iterator[FieldError]:
        is_bounded = most is not None and place.cardinality is not None
        count = min((place.cardinality or 0) * (most or 0), _UINT_MAX) if is_bounded else None
        yield from self.check(schema, path, place._replace(is_resource=bool(schema.get(_EMBEDDED)), cardinality=count))

    def _check_rules(self, rules: Sequence[Tree], schema: Tree, path: Path, place: _Place) -> Iterator[FieldError]:
        load()
        from steersman.cel.openapi import declare  # noqa: PLC0415 — loaded with the first expression
        from steersman.cel.schema_rules import cardinality, compile_rules  # noqa: PLC0415 — as above

        field_path = path.child(_RULES)
        type_ = declare(schema, is_resource=place.is_resource)
        if type_ is None:
            detail = (
                "internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert "
                "structural schema to CEL declarations"
            )
            yield field.internal(field_path, detail)
            return
        count = place.cardinality if place.cardinality is not None else cardinality(type_)
        for position, rule in enumerate(compile_rules(rules, type_)):
            yield from self._check_rule(rule, field_path.index(position), count, place)

    def _check_rule(self, rule: Rule, path: Path, count: int, place: _Place) -> Iterator[FieldError]:
        cost = min(rule.max_cost * count, _UINT_MAX)
        yield from self._check_cost(cost, "estimated rule cost", path.child("rule"))
        if rule.error:
            yield field.invalid(path.child("rule"), go_form("ValidationRule", rule.rule), rule.error)
        if rule.message_error:
            shown = go_form("ValidationRule", rule.rule)
            yield field.invalid(path.child("messageExpression"), shown, rule.message_error)
        elif rule.message is not None:
            # as upstream, the cost of a message counts once, not for each value
            subject = "estimated messageExpression cost"
            yield from self._check_cost(rule.message_max_cost, subject, path.child("messageExpression"))
        if rule.uses_old:
            if place.uncorrelated is not None:
                detail = "oldSelf cannot be used on the uncorrelatable portion of the schema within"
                yield field.invalid(path.child("rule"), rule.rule["rule"], f"{detail} {place.uncorrelated}")
        elif rule.rule.get("optionalOldSelf") is not None:
            detail = "may not be set if oldSelf is not used in rule"
            yield field.invalid(path.child("optionalOldSelf"), rule.rule["optionalOldSelf"], detail)

    def _check_cost(self, cost: int, subject: str, path: Path) -> Iterator[FieldError]:
        if cost > _COST_LIMIT:
            yield field.forbidden(path, _excess(subject, cost, _COST_LIMIT))
        self._costs.append((cost, path))

    def check_total(self, path: Path) -> Iterator[FieldError]:
        """Validate the estimated total cost."""
        total = min(sum(cost for cost, _ in self._costs), _UINT_MAX)
        if total <= _TOTAL_COST_LIMIT:
            return
        costs = sorted(self._costs, key=lambda entry: -entry[0])
        for cost, rule_path in costs[:_EXPENSIVE_MAX]:
            if cost >= _TOTAL_COST_LIMIT // 100:
                yield field.forbidden(rule_path, _CONTRIBUTED)
        yield field.forbidden(path, _excess(_TOTAL, total, _TOTAL_COST_LIMIT))


def _excess(subject: str, cost: int, limit: int) -> str:
    """Return by how much the cost exceeds the limit, in words."""
    factor = cost / limit
    exact = f"{factor:f}x" if factor < 1.5 else f"{factor:.1f}x"
    shown = exact if factor <= 100 else "more than 100x"
    advice = (
        "try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are "
        "declared"
    )
    return f"{subject} exceeds budget by factor of {shown} ({advice})"
