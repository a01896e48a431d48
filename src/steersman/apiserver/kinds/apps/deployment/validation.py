"""Validation of Deployments. Upstream: ``ValidateDeployment``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field
from steersman.apiserver.kinds.shared.counts import (
    ABOVE_REPLICAS,
    check_at_most_100_percent,
    check_int_or_percent,
    check_none_above,
    check_none_negative,
    check_not_decremented,
    is_zero,
)
from steersman.apiserver.kinds.shared.go_form import go_form
from steersman.apiserver.kinds.shared.template_selectors import (
    check_selector,
    check_selector_unchanged,
    validate_replicated_template,
)
from steersman.apiserver.spec_facts import new_facts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.spec_facts import FactsFor

_SPEC: Final = field.Path("spec")
_STATUS: Final = field.Path("status")


def validate_deployment(obj: Tree, facts_for: FactsFor = new_facts) -> Iterator[FieldError]:
    """Validate a Deployment."""
    spec = obj["spec"]
    yield from check_none_negative(spec, ("replicas",), _SPEC)
    yield from check_selector(spec, _SPEC, empty_detail="empty selector is invalid for deployment")
    yield from validate_replicated_template(spec, _SPEC, facts_for=facts_for)
    yield from _validate_strategy(spec.get("strategy") or {}, _SPEC.child("strategy"))
    yield from check_none_negative(spec, ("minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"), _SPEC)
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None and deadline <= (spec.get("minReadySeconds") or 0):
        yield field.invalid(_SPEC.child("progressDeadlineSeconds"), deadline, "must be greater than minReadySeconds")


def validate_deployment_update(obj: Tree, old: Tree, facts_for: FactsFor = new_facts) -> Iterator[FieldError]:
    """Validate an update of a Deployment."""
    yield from validate_deployment(obj, facts_for=facts_for)
    yield from check_selector_unchanged(obj, old)


def validate_deployment_status(obj: Tree, old: Tree) -> Iterator[FieldError]:
    """Validate the status: counters."""
    status = obj.get("status") or {}
    counts = (
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "terminatingReplicas",
        "collisionCount",
    )
    yield from check_none_negative(status, counts, _STATUS)
    parts = ("updatedReplicas", "readyReplicas", "availableReplicas")
    yield from check_none_above(status, parts, _STATUS, limit="replicas", detail=ABOVE_REPLICAS)
    yield from check_none_above(
        status, ("availableReplicas",), _STATUS, limit="readyReplicas", detail="cannot be greater than readyReplicas"
    )
    yield from check_not_decremented(status, old.get("status") or {}, "collisionCount", _STATUS)


def _validate_strategy(strategy: Tree, path: Path) -> Iterator[FieldError]:
    rolling = strategy.get("rollingUpdate")
    match strategy.get("type"):
        case "Recreate":
            if rolling is not None:
                detail = "may not be specified when strategy `type` is 'Recreate'"
                yield field.forbidden(path.child("rollingUpdate"), detail)
        case "RollingUpdate":
            if rolling is None:
                yield field.required(path.child("rollingUpdate"), "this should be defaulted and never be nil")
            else:
                yield from _validate_rolling_update(rolling, path.child("rollingUpdate"))
        case _:
            yield field.not_supported(path, go_form("DeploymentStrategy", strategy), ("Recreate", "RollingUpdate"))


def _validate_rolling_update(rolling: Tree, path: Path) -> Iterator[FieldError]:
    """Validate a rolling update: ``maxSurge`` and ``maxUnavailable`` cannot both be 0."""
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    yield from check_int_or_percent(unavailable, path.child("maxUnavailable"))
    yield from check_int_or_percent(surge, path.child("maxSurge"))
    if is_zero(unavailable) and is_zero(surge):
        yield field.invalid(path.child("maxUnavailable"), unavailable, "may not be 0 when `maxSurge` is 0")
    yield from check_at_most_100_percent(unavailable, path.child("maxUnavailable"))
