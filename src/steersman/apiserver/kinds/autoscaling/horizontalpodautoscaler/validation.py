"""Validation of HorizontalPodAutoscalers in the form of ``v2``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field, names
from steersman.apimachinery.quantity import Quantity, parse
from steersman.apiserver.kinds.autoscaling.horizontalpodautoscaler.behavior import validate_behavior
from steersman.apiserver.kinds.shared.counts import check_none_negative
from steersman.apiserver.kinds.shared.podspec.validate_resources import check_container_resource_name
from steersman.apiserver.kinds.shared.validation import check_all, validate_dns_label

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree

_SPEC: Final = field.Path("spec")
_STATUS: Final = field.Path("status")
_ZERO: Final = Quantity(0)
#: Metric source type → field of its source, in upstream's order.
_SOURCES: Final = {
    "Object": "object",
    "External": "external",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}
_RAW_OR_USE: Final = "may not set both a target raw value and a target utilization"


def validate_autoscaler(obj: Tree, old: Tree | None = None) -> Iterator[FieldError]:
    """Validate an autoscaler. Values that ``old`` has are accepted if later rules reject them."""
    spec = obj["spec"]
    before = old["spec"] if old is not None else {}
    minimum, maximum = spec.get("minReplicas"), spec.get("maxReplicas") or 0
    lowest = 0 if before.get("minReplicas") == 0 else 1
    if minimum is not None and minimum < lowest:
        yield field.invalid(_SPEC.child("minReplicas"), minimum, f"must be greater than or equal to {lowest}")
    yield from _check_maximum(maximum, _SPEC.child("maxReplicas"))
    if minimum is not None and maximum < minimum:
        detail = "must be greater than or equal to `minReplicas`"
        yield field.invalid(_SPEC.child("maxReplicas"), maximum, detail)
    target, old_target = spec.get("scaleTargetRef") or {}, before.get("scaleTargetRef")
    is_target_unchanged = old_target is not None and all(
        old_target.get(name) == target.get(name) for name in ("apiVersion", "kind")
    )
    yield from _validate_reference(target, _SPEC.child("scaleTargetRef"), check_version=not is_target_unchanged)
    yield from _validate_metrics(spec.get("metrics") or (), _SPEC.child("metrics"), minimum)
    yield from validate_behavior(spec.get("behavior"), _SPEC.child("behavior"))


def validate_autoscaler_status(obj: Tree) -> Iterator[FieldError]:
    """Validate the status: counters."""
    yield from check_none_negative(obj.get("status") or {}, ("currentReplicas", "desiredReplicas"), _STATUS)


def _check_maximum(maximum: int, path: Path) -> Iterator[FieldError]:
    if maximum == 0:
        yield field.required(path, "must be set and greater than 0")
    elif maximum < 0:
        yield field.invalid(path, maximum, "must be greater than 0")


def _validate_reference(
    reference: Tree, path: Path, *, check_version: bool, may_be_core: bool = False
) -> Iterator[FieldError]:
    for name in ("kind", "name"):
        value = reference.get(name) or ""
        if not value:
            yield field.required(path.child(name))
        else:
            yield from check_all(path.child(name), value, names.check_path_segment(value))
    version = reference.get("apiVersion") or ""
    if not check_version:
        return
    group, slash, _ = version.rpartition("/")
    if version.count("/") > 1:
        yield field.invalid(path.child("apiVersion"), version, f"unexpected GroupVersion string: {version}")
    elif not (slash and group) and not may_be_core and reference.get("kind") != "ReplicationController":
        yield field.invalid(path.child("apiVersion"), version, "apiVersion must specify API group")


def _validate_metrics(metrics: Sequence[Tree], path: Path, minimum: int | None) -> Iterator[FieldError]:
    for position, metric in enumerate(metrics):
        yield from _validate_metric(metric, path.index(position))
    if minimum == 0 and not any(metric.get("type") in ("Object", "External") for metric in metrics):
        detail = "must specify at least one Object or External metric to support scaling to zero replicas"
        yield field.forbidden(path, detail)


def _validate_metric(metric: Tree, path: Path) -> Iterator[FieldError]:
    type_ = metric.get("type") or ""
    types = sorted(_SOURCES)
    if not type_:
        yield field.required(path.child("type"), "must specify a metric source type")
    if type_ not in _SOURCES:
        yield field.not_supported(path.child("type"), type_, types)
    present = [name for name in _SOURCES.values() if metric.get(name) is not None]
    if present:
        yield from _VALIDATORS[present[0]](metric[present[0]], path.child(present[0]))
    expected = _SOURCES.get(type_)
    if expected is None:
        yield field.not_supported(path.child("type"), type_, types)
    elif expected not in present:
        yield field.required(path.child(expected), "must populate information for the given metric source")
    if len(present) > 1:
        for name in present:
            if name != expected:
                yield field.forbidden(path.child(name), "must populate the given metric source only")


def _validate_object(source: Tree, path: Path) -> Iterator[FieldError]:
    described = source.get("describedObject") or {}
    yield from _validate_reference(described, path.child("describedObject"), check_version=True, may_be_core=True)
    yield from _validate_identifier(source.get("metric") or {}, path.child("metric"))
    target = source.get("target") or {}
    yield from _validate_target(target, path.child("target"))
    if target.get("value") is None and target.get("averageValue") is None:
        yield field.required(path.child("target", "averageValue"), "must set either a target value or averageValue")


def _validate_external(source: Tree, path: Path) -> Iterator[FieldError]:
    yield from _validate_identifier(source.get("metric") or {}, path.child("metric"))
    target = source.get("target") or {}
    yield from _validate_target(target, path.child("target"))
    value, average = target.get("value"), target.get("averageValue")
    if value is None and average is None:
        detail = "must set either a target value for metric or a per-pod target"
        yield field.required(path.child("target", "averageValue"), detail)
    if value is not None and average is not None:
        detail = "may not set both a target value for metric and a per-pod target"
        yield field.forbidden(path.child("target", "value"), detail)


def _validate_pods(source: Tree, path: Path) -> Iterator[FieldError]:
    yield from _validate_identifier(source.get("metric") or {}, path.child("metric"))
    target = source.get("target") or {}
    yield from _validate_target(target, path.child("target"))
    if target.get("averageValue") is None:
        yield field.required(path.child("target", "averageValue"), "must specify a positive target averageValue")


def _validate_resource(source: Tree, path: Path) -> Iterator[FieldError]:
    if not source.get("name"):
        yield field.required(path.child("name"), "must specify a resource name")
    yield from _validate_use(source.get("target") or {}, path.child("target"))


def _validate_container_resource(source: Tree, path: Path) -> Iterator[FieldError]:
    name, container = source.get("name") or "", source.get("container") or ""
    if not name:
        yield field.required(path.child("name"), "must specify a resource name")
    else:
        yield from check_container_resource_name(name, path.child("name"))
    if not container:
        yield field.required(path.child("container"), "must specify a container")
    else:
        yield from validate_dns_label(container, path.child("container"))
    yield from _validate_use(source.get("target") or {}, path.child("target"))


_VALIDATORS: Final = {
    "object": _validate_object,
    "external": _validate_external,
    "pods": _validate_pods,
    "resource": _validate_resource,
    "containerResource": _validate_container_resource,
}


def _validate_use(target: Tree, path: Path) -> Iterator[FieldError]:
    yield from _validate_target(target, path)
    share, average = target.get("averageUtilization"), target.get("averageValue")
    if share is None and average is None:
        detail = "must set either a target raw value or a target utilization"
        yield field.required(path.child("averageUtilization"), detail)
    if share is not None and average is not None:
        yield field.forbidden(path.child("averageValue"), _RAW_OR_USE)


def _validate_target(target: Tree, path: Path) -> Iterator[FieldError]:
    type_ = target.get("type") or ""
    if not type_:
        yield field.required(path.child("type"), "must specify a metric target type")
    if type_ not in ("Utilization", "Value", "AverageValue"):
        yield field.invalid(path.child("type"), type_, "must be either Utilization, Value, or AverageValue")
    for name in ("value", "averageValue"):
        amount = target.get(name)
        if amount is not None and parse(amount) <= _ZERO:
            yield field.invalid(path.child(name), amount, "must be positive")
    share = target.get("averageUtilization")
    if share is not None and share < 1:
        yield field.invalid(path.child("averageUtilization"), share, "must be greater than 0")


def _validate_identifier(metric: Tree, path: Path) -> Iterator[FieldError]:
    name = metric.get("name") or ""
    if not name:
        yield field.required(path.child("name"), "must specify a metric name")
    else:
        yield from check_all(path.child("name"), name, names.check_path_segment(name))
