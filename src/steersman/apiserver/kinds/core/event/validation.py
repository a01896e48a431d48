"""Validation of Events. Upstream: ``pkg/apis/core/validation/events.go``.

Events without ``eventTime`` (legacy) get the fewest checks, writes through ``events.k8s.io`` the most.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery import field, names
from steersman.apimachinery.metadata_validation import (
    validate_object_meta,
    validate_object_meta_update,
    validate_standard_finalizers,
)
from steersman.apiserver.kinds.shared.go_form import go_form
from steersman.apiserver.kinds.shared.validation import FIELD_IS_IMMUTABLE, check_all

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree

_TEXT_LENGTH_MAX: Final = 128
_MESSAGE_LENGTH_MAX: Final = 1024
_UNSET: Final = "needs to be unset"
#: Fields that are immutable through ``events.k8s.io``, in upstream's order, where ``reason`` occurs twice.
_IMMUTABLE: Final = (
    "involvedObject",
    "reason",
    "message",
    "source",
    "firstTimestamp",
    "lastTimestamp",
    "count",
    "reason",
    "type",
    "eventTime",
    "action",
    "related",
    "reportingController",
    "reportingInstance",
)
#: Values shown for unset fields other than strings and structs.
_UNSET_VALUES: Final = {"firstTimestamp": None, "lastTimestamp": None, "count": 0, "eventTime": None, "related": None}


def validate_event(event: Tree, *, is_strict: bool) -> list[FieldError]:
    """Validate a new Event. ``is_strict``: written through ``events.k8s.io``."""
    errors = list(_validate_loosely(event, is_strict=is_strict))
    if is_strict:
        errors += _validate_strictly(event)
    return errors


def validate_event_update(event: Tree, old: Tree, *, is_strict: bool) -> list[FieldError]:
    """Validate an update of an Event. Through ``events.k8s.io`` only ``series`` may change."""
    errors = list(_validate_loosely(event, is_strict=is_strict))
    if not is_strict:
        return errors
    metadata = {name: value for name, value in event["metadata"].items() if name != "managedFields"}
    errors += validate_object_meta_update(metadata, old["metadata"])
    errors += validate_standard_finalizers(metadata.get("finalizers") or ())
    if event.get("series") != old.get("series"):
        errors += _validate_series(event)
    for name in _IMMUTABLE:
        stored = "reportingComponent" if name == "reportingController" else name
        new, before = event.get(stored), old.get(stored)
        if (new or None) != (before or None):
            errors.append(field.invalid(name, _shown_value(name, new), FIELD_IS_IMMUTABLE))
    return errors


def _shown_value(name: str, value: Any) -> Any:
    if value is None and name in _UNSET_VALUES:
        return _UNSET_VALUES[name]
    match name:
        case "involvedObject" | "related":
            return go_form("ObjectReference", value or {})
        case "source":
            return go_form("EventSource", value or {})
        case _:
            return value or ""


def _validate_loosely(event: Tree, *, is_strict: bool) -> Iterator[FieldError]:
    namespace = event["metadata"].get("namespace") or ""
    involved = (event.get("involvedObject") or {}).get("namespace") or ""
    namespace_path = field.Path("involvedObject", "namespace")
    is_new_style = bool(event.get("eventTime"))
    anywhere = ("default", "kube-system") if is_new_style else ("", "default")
    if not involved:
        if namespace not in anywhere:
            yield field.invalid(namespace_path, involved, "does not match event.namespace")
    elif not is_new_style and namespace != involved:
        yield field.invalid(namespace_path, involved, "does not match event.namespace")
    if not is_new_style:
        return
    controller = event.get("reportingComponent") or ""
    path = field.Path("reportingController" if is_strict else "reportingComponent")
    if not controller:
        yield field.required(path)
    yield from check_all(path, controller, names.check_qualified_name(controller))
    for name in ("reportingInstance", "action", "reason"):
        value = event.get(name) or ""
        if not value:
            yield field.required(name)
        yield from _check_length(name, value, _TEXT_LENGTH_MAX)
    yield from _check_length("message", event.get("message") or "", _MESSAGE_LENGTH_MAX)


def _check_length(name: str, value: str, length_max: int) -> Iterator[FieldError]:
    if len(value.encode()) > length_max:
        yield field.invalid(name, "", f"can have at most {length_max} characters")


def _validate_strictly(event: Tree) -> Iterator[FieldError]:
    metadata = event["metadata"]
    yield from validate_object_meta(
        metadata, namespaced=True, name_rule=names.name_is_dns_subdomain, with_managed_fields=False
    )
    yield from validate_standard_finalizers(metadata.get("finalizers") or ())
    yield from _validate_series(event)
    if not event.get("eventTime"):
        yield field.required("eventTime")
    kind = event.get("type") or ""
    if kind not in ("Normal", "Warning"):
        yield field.invalid("type", "", f"has invalid value: {kind}")
    for name in ("firstTimestamp", "lastTimestamp", "count", "source"):
        if event.get(name):
            yield field.invalid(name, "", _UNSET)


def _validate_series(event: Tree) -> Iterator[FieldError]:
    series: dict[str, Any] | None = event.get("series")
    if series is None:
        return
    if (series.get("count") or 0) < 2:
        yield field.invalid("series.count", "", "should be at least 2")
    if not series.get("lastObservedTime"):
        yield field.required("series.lastObservedTime")
