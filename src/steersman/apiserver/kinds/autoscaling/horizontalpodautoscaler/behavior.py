"""Validation of ``spec.behavior`` of HorizontalPodAutoscalers (KEP-853)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field
from steersman.apimachinery.quantity import Quantity, parse
from steersman.apiserver.kinds.shared.validation import IS_NEGATIVE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree

_WINDOW_MAX_SECONDS: Final = 3600
_PERIOD_MAX_SECONDS: Final = 1800
_SELECT_POLICIES: Final = ("Disabled", "Max", "Min")
_POLICY_TYPES: Final = ("Percent", "Pods")


def validate_behavior(behavior: Tree | None, path: Path) -> Iterator[FieldError]:
    """Validate the scaling rules of both directions."""
    for direction in ("scaleUp", "scaleDown"):
        rules = (behavior or {}).get(direction)
        if rules is not None:
            yield from _validate_rules(rules, path.child(direction))


def _validate_rules(rules: Tree, path: Path) -> Iterator[FieldError]:
    window = rules.get("stabilizationWindowSeconds")
    window_path = path.child("stabilizationWindowSeconds")
    if window is not None and window < 0:
        yield field.invalid(window_path, window, "must be greater than or equal to zero")
    if window is not None and window > _WINDOW_MAX_SECONDS:
        yield field.invalid(window_path, window, f"must be less than or equal to {_WINDOW_MAX_SECONDS}")
    select = rules.get("selectPolicy")
    if select is not None and select not in _SELECT_POLICIES:
        yield field.not_supported(path.child("selectPolicy"), select, _SELECT_POLICIES)
    policies = rules.get("policies") or ()
    if not policies:
        yield field.required(path.child("policies"), "must specify at least one Policy")
    for position, policy in enumerate(policies):
        yield from _validate_policy(policy, path.child("policies").index(position))
    tolerance = rules.get("tolerance")
    if tolerance is not None and parse(tolerance) < Quantity(0):
        yield field.invalid(path.child("tolerance"), tolerance, IS_NEGATIVE)


def _validate_policy(policy: Tree, path: Path) -> Iterator[FieldError]:
    type_ = policy.get("type") or ""
    if type_ not in _POLICY_TYPES:
        yield field.not_supported(path.child("type"), type_, _POLICY_TYPES)
    for name in ("value", "periodSeconds"):
        amount = policy.get(name) or 0
        if amount <= 0:
            yield field.invalid(path.child(name), amount, "must be greater than zero")
    period = policy.get("periodSeconds") or 0
    if period > _PERIOD_MAX_SECONDS:
        detail = f"must be less than or equal to {_PERIOD_MAX_SECONDS}"
        yield field.invalid(path.child("periodSeconds"), period, detail)
