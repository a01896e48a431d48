"""Validation of PodDisruptionBudgets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field
from steersman.apiserver.kinds.shared.conditions import validate_conditions
from steersman.apiserver.kinds.shared.counts import (
    check_at_most_100_percent,
    check_int_or_percent,
    check_none_negative,
)
from steersman.apiserver.kinds.shared.go_form import go_form
from steersman.apiserver.kinds.shared.validation import validate_label_selector

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree

_SPEC: Final = field.Path("spec")
_STATUS: Final = field.Path("status")
_EVICTION_POLICIES: Final = ("AlwaysAllow", "IfHealthyBudget")


def validate_budget(obj: Tree, old: Tree | None = None) -> Iterator[FieldError]:
    """Validate a PodDisruptionBudget. Invalid selector values that ``old`` has are accepted."""
    spec = obj.get("spec") or {}
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        yield field.invalid(
            _SPEC, go_form("PodDisruptionBudgetSpec", spec), "minAvailable and maxUnavailable cannot be both set"
        )
    for name in ("minAvailable", "maxUnavailable"):
        if (limit := spec.get(name)) is not None:
            yield from check_int_or_percent(limit, _SPEC.child(name))
            yield from check_at_most_100_percent(limit, _SPEC.child(name))
    old_selector = (old.get("spec") or {}).get("selector") if old is not None else None
    lax = next(validate_label_selector(old_selector, _SPEC), None) is not None
    yield from validate_label_selector(spec.get("selector"), _SPEC.child("selector"), allow_invalid_values=lax)
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in _EVICTION_POLICIES:
        yield field.not_supported(_SPEC.child("unhealthyPodEvictionPolicy"), policy, _EVICTION_POLICIES)


def validate_budget_status(obj: Tree) -> Iterator[FieldError]:
    """Validate the status: counters and conditions."""
    status = obj.get("status") or {}
    yield from validate_conditions(status.get("conditions"), _STATUS.child("conditions"))
    counts = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
    yield from check_none_negative(status, counts, _STATUS)
