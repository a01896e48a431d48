"""Validation functions shared by the kinds of ``resource.k8s.io``: names, bounded lists, taints, binding conditions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery import field, names
from steersman.apimachinery.gotext import quote, to_json
from steersman.apiserver.kinds.shared.podspec.validate_sources import check_csi_driver_name
from steersman.apiserver.kinds.shared.validation import (
    check_all,
    repeat_positions,
    validate_dns_label,
    validate_qualified_name,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree

    Check = Callable[[Any, Path], Iterator[FieldError]]

EFFECTS: Final = ("NoExecute", "NoSchedule", "None")

_POOL_NAME_MAX_BYTES: Final = 253
_ID_MAX_BYTES: Final = 32
_BINDING_CONDITIONS_MAX: Final = 4
_OPAQUE_MAX_BYTES: Final = 10 * 1024
_KEY_SHOWN_MAX: Final = 63 + 1 + _ID_MAX_BYTES
_URN: Final = "urn:uuid:"
_UUID_LENGTH: Final = 36
_UUID_DIGITS: Final = 32
_UUID: Final = re.compile("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9a-fA-F]{32}")


def check_list(items: Sequence[Any] | None, path: Path, check: Check, *, max_items: int) -> Iterator[FieldError]:
    """Validate each item; a list above the limit gets one error and its items are not validated."""
    elements = items or ()
    if 0 <= max_items < len(elements):
        yield field.too_many(path, len(elements), max_items=max_items)
        return
    for position, item in enumerate(elements):
        yield from check(item, path.index(position))


def check_set(
    items: Sequence[Any] | None,
    path: Path,
    check: Check,
    *,
    key: Callable[[Any], Any],
    max_items: int,
    shown_key: Callable[[Any], Any] | None = None,
) -> Iterator[FieldError]:
    """Validate items as ``check_list``, and that their keys are unique. ``shown_key``: the form of a key in messages."""
    yield from check_list(items, path, check, max_items=max_items)
    if 0 <= max_items < len(items or ()):
        return
    keys = [key(item) for item in items or ()]
    for position in sorted(repeat_positions(keys)):
        shown = keys[position] if shown_key is None else shown_key(keys[position])
        yield field.duplicate(path.index(position), shown)


def check_map(
    items: Tree | None, path: Path, check_key: Check, check: Check, *, max_items: int
) -> Iterator[FieldError]:
    """Validate each key and value of a map. Errors of keys have the path of the map, those of values the key in it.

    Upstream: ``pkg/apis/resource/validation/validation.go``, ``validateMap``.
    """
    entries = items or {}
    if 0 <= max_items < len(entries):
        yield field.too_many(path, len(entries), max_items=max_items)
        return
    for key, value in entries.items():
        yield from check_key(key, path)
        yield from check(value, path.key(_shortened(key)))


def _shortened(key: str) -> str:
    if len(key) <= _KEY_SHOWN_MAX:
        return key
    rest = _KEY_SHOWN_MAX - 3
    return f"{key[: (rest + 1) // 2]}...{key[len(key) - rest // 2 :]}"


def check_driver(name: str | None, path: Path) -> Iterator[FieldError]:
    """Validate a driver name, by the rules of CSI driver names."""
    yield from check_csi_driver_name(name or "", path)


def check_label_name(name: str | None, path: Path) -> Iterator[FieldError]:
    """Validate the name of a request, device or counter: a DNS label."""
    yield from validate_dns_label(name or "", path)


def check_pool(name: str | None, path: Path) -> Iterator[FieldError]:
    """Validate a pool name: DNS subdomains separated by slashes."""
    if not name:
        yield field.required(path)
        return
    if len(name.encode()) > _POOL_NAME_MAX_BYTES:
        yield field.too_long(path, max_bytes=_POOL_NAME_MAX_BYTES)
    for part in name.split("/"):
        yield from check_all(path, part, names.check_dns1123_subdomain(part))


def check_qualified(name: str, path: Path) -> Iterator[FieldError]:
    """Validate a qualified name of an attribute or capacity: a C identifier with an optional domain."""
    domain, slash, identifier = name.partition("/")
    if not slash:
        yield from _check_identifier(name, path)
    elif "/" not in identifier:
        if domain:
            yield from check_driver(domain, path)
        else:
            yield field.invalid(path, "", "the domain must not be empty")
        if identifier:
            yield from _check_identifier(identifier, path)
        else:
            yield field.invalid(path, "", "the name must not be empty")


def check_fully_qualified(name: str, path: Path) -> Iterator[FieldError]:
    """Validate a C identifier with a domain."""
    yield from check_qualified(name, path)
    if "/" not in name:
        yield field.invalid(path, name, "a fully qualified name must be a domain and a name separated by a slash")


def _check_identifier(name: str, path: Path) -> Iterator[FieldError]:
    if len(name.encode()) > _ID_MAX_BYTES:
        yield field.too_long(path, max_bytes=_ID_MAX_BYTES)
    yield from check_all(path, name, names.check_c_identifier(name))


def check_opaque(config: Tree, path: Path, *, stored: bool = False) -> Iterator[FieldError]:
    """Validate opaque driver parameters."""
    opaque, opaque_path = config.get("opaque"), path.child("opaque")
    if opaque is None:
        yield field.required(opaque_path)
        return
    yield from check_driver(opaque.get("driver"), opaque_path.child("driver"))
    yield from check_raw(opaque.get("parameters"), opaque_path.child("parameters"), stored=stored)


def check_raw(value: Any, path: Path, *, stored: bool = False) -> Iterator[FieldError]:
    """Validate a raw object and its size limit, which stored objects may exceed."""
    if value is None:
        yield field.required(path)
    elif not stored and len(to_json(value).encode()) > _OPAQUE_MAX_BYTES:
        yield field.too_long(path, max_bytes=_OPAQUE_MAX_BYTES)
    elif not isinstance(value, dict):
        yield field.invalid(path, "<value omitted>", "must be a valid JSON object")


def check_taint(taint: Tree, path: Path) -> Iterator[FieldError]:
    """Validate a device taint."""
    yield from validate_qualified_name(taint.get("key") or "", path.child("key"))
    value, effect = taint.get("value") or "", taint.get("effect") or ""
    if value:
        yield from check_all(path.child("value"), value, names.check_label_value(value))
    if not effect:
        yield field.required(path.child("effect"))
    elif effect not in EFFECTS:
        yield field.not_supported(path.child("effect"), effect, EFFECTS)


def check_binding_conditions(device: Tree, path: Path) -> Iterator[FieldError]:
    """Validate binding conditions and binding failure conditions of a device."""
    awaited, failures = device.get("bindingConditions") or [], device.get("bindingFailureConditions") or []
    lists = ((awaited, path.child("bindingConditions")), (failures, path.child("bindingFailureConditions")))
    for conditions, conditions_path in lists:
        yield from check_list(conditions, conditions_path, validate_qualified_name, max_items=_BINDING_CONDITIONS_MAX)
    awaited_set = set(awaited)
    for conditions, conditions_path in lists:
        repeats = repeat_positions(conditions)
        for position, condition in enumerate(conditions):
            if position in repeats:
                yield field.duplicate(conditions_path.index(position), condition)
            if conditions is failures and condition in awaited_set:
                detail = "bindingFailureConditions must not overlap with bindingConditions"
                yield field.invalid(conditions_path.index(position), condition, detail)
    if failures and not awaited:
        detail = "bindingConditions are required to use bindingFailureConditions"
        yield field.invalid(lists[0][1], None, detail)
    if awaited and not failures:
        detail = "bindingFailureConditions are required to use bindingConditions"
        yield field.invalid(lists[1][1], None, detail)


def uuid_fault(text: str) -> str:
    """Return why a text is no UUID; empty if it is one. Go: ``Validate`` of ``github.com/google/uuid``."""
    length = len(text.encode())
    if length == _UUID_LENGTH + len(_URN) and not text.lower().startswith(_URN):
        return f"invalid urn prefix: {quote(text[: len(_URN)])}"
    if length == _UUID_LENGTH + 2 and (text[0], text[-1]) != ("{", "}"):
        return "invalid bracketed UUID format"
    if length not in (_UUID_LENGTH, _UUID_LENGTH + len(_URN), _UUID_LENGTH + 2, _UUID_DIGITS):
        return f"invalid UUID length: {length}"
    if length == _UUID_LENGTH + len(_URN):
        text = text[len(_URN) :]
    elif length == _UUID_LENGTH + 2:
        text = text[1:-1]
    return "" if _UUID.fullmatch(text) else "invalid UUID format"
