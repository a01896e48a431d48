"""Validation of DaemonSets. Upstream: ``ValidateDaemonSet``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field
from steersman.apiserver.kinds.shared.counts import (
    check_at_most_100_percent,
    check_int_or_percent,
    check_none_negative,
    check_not_decremented,
    is_zero,
)
from steersman.apiserver.kinds.shared.go_form import go_form
from steersman.apiserver.kinds.shared.podspec.validate import validate_pod_template
from steersman.apiserver.kinds.shared.template_selectors import (
    check_always_restarts,
    check_labels_match,
    check_selector_unchanged,
    is_empty,
    parse_selector,
)
from steersman.apiserver.kinds.shared.validation import validate_label_selector
from steersman.apiserver.spec_facts import new_facts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.spec_facts import FactsFor

_SPEC: Final = field.Path("spec")
_STATUS: Final = field.Path("status")
_TEMPLATE: Final = _SPEC.child("template")


def validate_daemon_set(obj: Tree, facts_for: FactsFor = new_facts) -> Iterator[FieldError]:
    """Validate a DaemonSet."""
    spec = obj["spec"]
    selector, template = spec.get("selector"), spec.get("template") or {}
    yield from validate_label_selector(selector, _SPEC.child("selector"))
    parsed = parse_selector(selector)
    if parsed is not None:
        yield from check_labels_match(template, parsed, _TEMPLATE)
    if selector is not None and is_empty(selector):
        yield field.invalid(_SPEC.child("selector"), selector, "empty selector is invalid for daemonset")
    yield from validate_pod_template(template, _TEMPLATE, facts_for=facts_for)
    yield from check_always_restarts(template, _TEMPLATE, kind="DaemonSet")
    yield from check_none_negative(spec, ("minReadySeconds",), _SPEC)
    yield from _validate_strategy(spec.get("updateStrategy") or {}, _SPEC.child("updateStrategy"))
    yield from check_none_negative(spec, ("revisionHistoryLimit",), _SPEC)


def validate_daemon_set_update(obj: Tree, old: Tree, facts_for: FactsFor = new_facts) -> Iterator[FieldError]:
    """Validate an update of a DaemonSet."""
    yield from validate_daemon_set(obj, facts_for=facts_for)
    yield from check_selector_unchanged(obj, old)


def validate_daemon_set_status(obj: Tree, old: Tree) -> Iterator[FieldError]:
    """Validate the status: counters."""
    status = obj.get("status") or {}
    counts = (
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
        "collisionCount",
    )
    yield from check_none_negative(status, counts, _STATUS)
    yield from check_not_decremented(status, old.get("status") or {}, "collisionCount", _STATUS)


def _validate_strategy(strategy: Tree, path: Path) -> Iterator[FieldError]:
    match strategy.get("type"):
        case "OnDelete":
            return
        case "RollingUpdate":
            rolling = strategy.get("rollingUpdate")
            if rolling is None:
                yield field.required(path.child("rollingUpdate"))
            else:
                yield from _validate_rolling_update(rolling, path.child("rollingUpdate"))
        case _:
            yield field.not_supported(path, go_form("DaemonSetUpdateStrategy", strategy), ("RollingUpdate", "OnDelete"))


def _validate_rolling_update(rolling: Tree, path: Path) -> Iterator[FieldError]:
    """Validate a rolling update: exactly one of ``maxSurge`` and ``maxUnavailable`` is not 0."""
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    yield from check_int_or_percent(unavailable, path.child("maxUnavailable"))
    yield from check_int_or_percent(surge, path.child("maxSurge"))
    yield from check_at_most_100_percent(unavailable, path.child("maxUnavailable"))
    yield from check_at_most_100_percent(surge, path.child("maxSurge"))
    if is_zero(unavailable) and is_zero(surge):
        yield field.required(path.child("maxUnavailable"), "cannot be 0 when maxSurge is 0")
    elif not is_zero(unavailable) and not is_zero(surge):
        yield field.invalid(path.child("maxSurge"), surge, "may not be set when maxUnavailable is non-zero")
