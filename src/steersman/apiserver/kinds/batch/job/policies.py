"""Validation of ``podFailurePolicy`` and ``successPolicy`` of Jobs."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery import field
from steersman.apimachinery.gotext import quote
from steersman.apiserver.kinds.batch.job.indexes import IndexesError, count_indexes
from steersman.apiserver.kinds.shared.conditions import STATUSES
from steersman.apiserver.kinds.shared.validation import check_not_negative, validate_qualified_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree

_RULES_MAX: Final = 20
_EXIT_CODES_MAX: Final = 255
_PATTERNS_MAX: Final = 20
_INDEXES_MAX_BYTES: Final = 64 * 1024
_ACTIONS: Final = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS: Final = ("In", "NotIn")


def validate_failure_policy(spec: Tree, path: Path) -> Iterator[FieldError]:
    """Validate a Pod failure policy."""
    rules = spec["podFailurePolicy"].get("rules") or ()
    if len(rules) > _RULES_MAX:
        yield field.too_many(path.child("rules"), len(rules), max_items=_RULES_MAX)
    pod = (spec.get("template") or {}).get("spec") or {}
    containers = {c.get("name") for kind in ("containers", "initContainers") for c in pod.get(kind) or ()}
    for position, rule in enumerate(rules):
        item_path = path.child("rules").index(position)
        yield from _validate_action(rule.get("action") or "", spec, item_path.child("action"))
        exit_codes, patterns = rule.get("onExitCodes"), rule.get("onPodConditions")
        if exit_codes is not None:
            yield from _validate_exit_codes(exit_codes, item_path.child("onExitCodes"), containers)
        if patterns:
            yield from _validate_patterns(patterns, item_path.child("onPodConditions"))
        if exit_codes is not None and patterns:
            detail = "specifying both OnExitCodes and OnPodConditions is not supported"
            yield field.invalid(item_path, field.OMIT_VALUE, detail)
        if exit_codes is None and not patterns:
            yield field.invalid(
                item_path, field.OMIT_VALUE, "specifying one of OnExitCodes and OnPodConditions is required"
            )


def _check_one_of(value: str, supported: Sequence[str], path: Path) -> Iterator[FieldError]:
    """Validate a supported value; unlike ``check_supported``, the error for a missing value lists the supported ones."""
    if not value:
        yield field.required(path, f"valid values: [{' '.join(map(quote, supported))}]")
    elif value not in supported:
        yield field.not_supported(path, value, supported)


def _validate_action(action: str, spec: Tree, path: Path) -> Iterator[FieldError]:
    yield from _check_one_of(action, _ACTIONS, path)
    if action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
        yield field.invalid(path, action, "requires the backoffLimitPerIndex to be set")


def _validate_exit_codes(requirement: Tree, path: Path, containers: set[Any]) -> Iterator[FieldError]:
    operator = requirement.get("operator") or ""
    yield from _check_one_of(operator, _OPERATORS, path.child("operator"))
    name = requirement.get("containerName")
    if name is not None and name not in containers:
        detail = "must be one of the container or initContainer names in the pod template"
        yield field.invalid(path.child("containerName"), name, detail)
    values, values_path = requirement.get("values") or [], path.child("values")
    if not values:
        # upstream distinguishes nil from an empty list; clients write an empty list
        yield field.invalid(values_path, [], "at least one value is required")
    elif len(values) > _EXIT_CODES_MAX:
        yield field.too_many(values_path, len(values), max_items=_EXIT_CODES_MAX)
    seen: set[int] = set()
    for position, value in enumerate(values):
        if operator == "In" and value == 0:
            yield field.invalid(values_path.index(position), value, "must not be 0 for the In operator")
        if value in seen:
            yield field.duplicate(values_path.index(position), value)
        seen.add(value)
    if any(left > right for left, right in pairwise(values)):
        yield field.invalid(values_path, values, "must be ordered")


def _validate_patterns(patterns: Sequence[Tree], path: Path) -> Iterator[FieldError]:
    if len(patterns) > _PATTERNS_MAX:
        yield field.too_many(path, len(patterns), max_items=_PATTERNS_MAX)
    for position, pattern in enumerate(patterns):
        item_path = path.index(position)
        yield from validate_qualified_name(pattern.get("type") or "", item_path.child("type"))
        yield from _check_one_of(pattern.get("status") or "", STATUSES, item_path.child("status"))


def validate_success_policy(spec: Tree, path: Path) -> Iterator[FieldError]:
    """Validate the success policy of an Indexed Job."""
    rules = spec["successPolicy"].get("rules") or ()
    rules_path = path.child("rules")
    if not rules:
        yield field.required(rules_path, "at least one rules must be specified when the successPolicy is specified")
    if len(rules) > _RULES_MAX:
        yield field.too_many(rules_path, len(rules), max_items=_RULES_MAX)
    for position, rule in enumerate(rules):
        yield from _validate_success_rule(rule, spec.get("completions") or 0, rules_path.index(position))


def _validate_success_rule(rule: Tree, completions: int, path: Path) -> Iterator[FieldError]:
    indexes, count = rule.get("succeededIndexes"), rule.get("succeededCount")
    if indexes is None and count is None:
        yield field.required(path, "at least one of succeededCount or succeededIndexes must be specified")
    named = 0
    if indexes is not None:
        succeeded_indexes_path = path.child("succeededIndexes")
        if len(indexes.encode()) > _INDEXES_MAX_BYTES:
            yield field.too_long(succeeded_indexes_path, max_bytes=_INDEXES_MAX_BYTES)
        try:
            named = count_indexes(indexes, completions)
        except IndexesError as error:
            yield field.invalid(succeeded_indexes_path, indexes, f"error parsing succeededIndexes: {error}")
    if count is None:
        return
    succeeded_count_path = path.child("succeededCount")
    yield from check_not_negative(count, succeeded_count_path)
    if count > completions:
        detail = f"must be less than or equal to {completions} (the number of specified completions)"
        yield field.invalid(succeeded_count_path, count, detail)
    if indexes is not None and count > named:
        explanation = "the number of indexes in the specified succeededIndexes field"
        yield field.invalid(succeeded_count_path, count, f"must be less than or equal to {named} ({explanation})")
