"""Validation of ResourceSlices."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery import field, names
from steersman.apiserver.kinds.resource.resourceslice.capacity_rules import check_capacity
from steersman.apiserver.kinds.resource.shared.device_rules import (
    check_binding_conditions,
    check_driver,
    check_label_name,
    check_list,
    check_map,
    check_pool,
    check_qualified,
    check_set,
    check_taint,
)
from steersman.apiserver.kinds.shared.go_form import go_form
from steersman.apiserver.kinds.shared.podspec.validate_placement import validate_node_selector
from steersman.apiserver.kinds.shared.validation import check_all, check_unchanged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree

_SPEC: Final = field.Path("spec")
_DEVICES_MAX: Final = 128
#: Maximum number of devices in slices with taints or counters.
_RICH_DEVICES_MAX: Final = 64
_COUNTER_SETS_MAX: Final = 8
_COUNTERS_MAX: Final = 32
_CONSUMPTIONS_MAX: Final = 2
_ATTRIBUTES_MAX: Final = 32
_TAINTS_MAX: Final = 16
_ATTRIBUTE_MAX_BYTES: Final = 64
_NUMBER: Final = r"(0|[1-9]\d*)"
_PART: Final = r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_SEMANTIC_VERSION: Final = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_PART}(\.{_PART})*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?", re.ASCII
)
_WHERE_OF_SLICE: Final = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
_WHERE_OF_DEVICE: Final = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true "
    "in the ResourceSlice spec"
)
_NOT_PER_DEVICE: Final = (
    "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the "
    "ResourceSlice spec"
)


def validate_slice(obj: Tree, old: Tree | None = None) -> Iterator[FieldError]:
    """Validate a ResourceSlice; driver, pool name and node name are immutable."""
    spec = obj.get("spec") or {}
    before = (old.get("spec") or {}) if old is not None else None
    yield from check_driver(spec.get("driver"), _SPEC.child("driver"))
    yield from _validate_pool(spec.get("pool") or {}, _SPEC.child("pool"))
    if before is not None:
        pool, old_pool = spec.get("pool") or {}, before.get("pool") or {}
        yield from check_unchanged(pool.get("name"), old_pool.get("name"), _SPEC.child("pool", "name"))
        for name in ("driver", "nodeName"):
            yield from check_unchanged(spec.get(name), before.get(name), _SPEC.child(name))
    yield from _validate_node_association(spec)
    devices, counters = spec.get("devices"), spec.get("sharedCounters")
    if devices is not None and counters is not None:
        yield field.invalid(_SPEC, "", "only one of `sharedCounters` or `devices` is allowed")
    is_rich = any(device.get("taints") or device.get("consumesCounters") for device in devices or ())
    old_devices = {device.get("name"): device for device in (before or {}).get("devices") or ()}
    per_device = bool(spec.get("perDeviceNodeSelection"))

    def check_device(device: Tree, path: Path) -> Iterator[FieldError]:
        yield from _validate_device(device, old_devices.get(device.get("name")), path, per_device=per_device)

    most = _RICH_DEVICES_MAX if is_rich else _DEVICES_MAX
    yield from check_set(devices, _SPEC.child("devices"), check_device, key=_name, max_items=most)
    shared_counters_path = _SPEC.child("sharedCounters")
    yield from check_set(counters, shared_counters_path, _validate_counter_set, key=_name, max_items=_COUNTER_SETS_MAX)


def _name(item: Tree) -> Any:
    return item.get("name") or ""


def _validate_pool(pool: Tree, path: Path) -> Iterator[FieldError]:
    yield from check_pool(pool.get("name"), path.child("name"))
    count, generation = pool.get("resourceSliceCount") or 0, pool.get("generation") or 0
    if count <= 0:
        yield field.invalid(path.child("resourceSliceCount"), count, "must be greater than zero")
    if generation < 0:
        yield field.invalid(path.child("generation"), generation, "must be greater than or equal to zero")


def _validate_node_association(spec: Tree) -> Iterator[FieldError]:
    """Validate the node association: exactly one of ``nodeName``, ``nodeSelector``, ``allNodes``,
    ``perDeviceNodeSelection``.
    """
    fields, node = [], spec.get("nodeName")
    if node:
        fields.append("`nodeName`")
        yield from check_all(_SPEC.child("nodeName"), node, names.check_dns1123_subdomain(node))
    elif node is not None:
        detail = "must be either unset or set to a non-empty string"
        yield field.invalid(_SPEC.child("nodeName"), node, detail)
    selector, node_selector_path = spec.get("nodeSelector"), _SPEC.child("nodeSelector")
    if selector is not None:
        fields.append("`nodeSelector`")
        yield from validate_node_selector(selector, node_selector_path)
        terms = selector.get("nodeSelectorTerms") or []
        if len(terms) != 1:
            shown = go_form("NodeSelectorTerm", terms)
            yield field.invalid(
                node_selector_path.child("nodeSelectorTerms"), shown, "must have exactly one node selector term"
            )
    for name in ("allNodes", "perDeviceNodeSelection"):
        if spec.get(name):
            fields.append(f"`{name}`")
        elif spec.get(name) is not None:
            yield field.invalid(_SPEC.child(name), False, "must be either unset or set to true")
    if not fields:
        yield field.required(_SPEC, _WHERE_OF_SLICE)
    elif len(fields) > 1:
        yield field.invalid(_SPEC, f"{{{', '.join(fields)}}}", f"{_WHERE_OF_SLICE}, but multiple fields are set")


def _validate_device(device: Tree, old: Tree | None, path: Path, *, per_device: bool) -> Iterator[FieldError]:
    yield from check_label_name(device.get("name"), path.child("name"))
    attributes, capacity = device.get("attributes") or {}, device.get("capacity") or {}
    count = len(attributes) + len(capacity)
    if count > _ATTRIBUTES_MAX:
        detail = f"the total number of attributes and capacities must not exceed {_ATTRIBUTES_MAX}"
        yield field.invalid(path, count, detail)
    yield from check_map(attributes, path.child("attributes"), check_qualified, _validate_attribute, max_items=-1)
    shared = bool(device.get("allowMultipleAllocations"))

    def check_amount(amount: Tree, amount_path: Path) -> Iterator[FieldError]:
        yield from check_capacity(amount, amount_path, shared=shared)

    yield from check_map(capacity, path.child("capacity"), check_qualified, check_amount, max_items=-1)
    if old is None or old.get("taints") != device.get("taints"):
        yield from check_list(device.get("taints"), path.child("taints"), check_taint, max_items=_TAINTS_MAX)
    yield from check_set(
        device.get("consumesCounters"),
        path.child("consumesCounters"),
        _validate_consumption,
        key=lambda consumption: consumption.get("counterSet") or "",
        max_items=_CONSUMPTIONS_MAX,
    )
    yield from _validate_device_node_association(device, path, per_device=per_device)
    yield from check_binding_conditions(device, path)


def _validate_device_node_association(device: Tree, path: Path, *, per_device: bool) -> Iterator[FieldError]:
    node, selector, everywhere = (device.get(name) for name in ("nodeName", "nodeSelector", "allNodes"))
    if not per_device:
        if not (node is None and selector is None and everywhere is None):
            yield field.invalid(path, None, _NOT_PER_DEVICE)
        return
    fields = []
    if node:
        fields.append("`nodeName`")
        yield from check_all(path.child("nodeName"), node, names.check_dns1123_subdomain(node))
    elif node is not None:
        yield field.invalid(path.child("nodeName"), node, "must not be empty")
    if selector is not None:
        fields.append("`nodeSelector`")
        yield from validate_node_selector(selector, path.child("nodeSelector"))
    if everywhere:
        fields.append("`allNodes`")
    elif everywhere is not None:
        yield field.invalid(path.child("allNodes"), False, "must be either unset or set to true")
    if not fields:
        yield field.required(path, _WHERE_OF_DEVICE)
    elif len(fields) > 1:
        yield field.invalid(path, f"{{{', '.join(fields)}}}", _WHERE_OF_DEVICE)


def _validate_attribute(attribute: Tree, path: Path) -> Iterator[FieldError]:
    text, version = attribute.get("string"), attribute.get("version")
    yield from _check_length(text or "", path.child("string"))
    if version is not None and not _SEMANTIC_VERSION.fullmatch(version):
        detail = "must be a string compatible with semver.org spec 2.0.0"
        yield field.invalid(path.child("version"), version, detail)
    yield from _check_length(version or "", path.child("version"))
    value_fields = [name for name in ("bool", "int", "string", "version") if attribute.get(name) is not None]
    if not value_fields:
        yield field.invalid(path, "", "exactly one value must be specified")
    elif len(value_fields) > 1:
        yield field.invalid(path, go_form("DeviceAttribute", attribute), "exactly one value must be specified")


def _check_length(value: str, path: Path) -> Iterator[FieldError]:
    if len(value.encode()) > _ATTRIBUTE_MAX_BYTES:
        yield field.too_long(path, max_bytes=_ATTRIBUTE_MAX_BYTES)


def _validate_counter_set(counters: Tree, path: Path) -> Iterator[FieldError]:
    yield from _validate_counters(counters, path, name="name")


def _validate_consumption(consumption: Tree, path: Path) -> Iterator[FieldError]:
    yield from _validate_counters(consumption, path, name="counterSet")


def _validate_counters(holder: Tree, path: Path, *, name: str) -> Iterator[FieldError]:
    if not holder.get(name):
        yield field.required(path.child(name))
    else:
        yield from check_label_name(holder[name], path.child(name))
    counters, counters_path = holder.get("counters"), path.child("counters")
    if not counters:
        yield field.required(counters_path)
        return
    if len(counters) > _COUNTERS_MAX:
        yield field.too_many(counters_path, len(counters), max_items=_COUNTERS_MAX)
        return
    for key in counters:
        yield from check_label_name(key, counters_path)
