"""Validation of ResourceClaim statuses: allocation, ``reservedFor`` and device statuses reported by drivers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field
from steersman.apimachinery.addresses import parse_ip
from steersman.apimachinery.trees import tree_key
from steersman.apiserver.kinds.resource.shared.claim_validation import RequestNames
from steersman.apiserver.kinds.resource.shared.device_rules import (
    check_binding_conditions,
    check_driver,
    check_label_name,
    check_list,
    check_opaque,
    check_pool,
    check_raw,
    check_set,
    uuid_fault,
)
from steersman.apiserver.kinds.shared.conditions import validate_conditions
from steersman.apiserver.kinds.shared.go_form import go_form
from steersman.apiserver.kinds.shared.podspec.validate_placement import validate_node_selector
from steersman.apiserver.kinds.shared.validation import FIELD_IS_IMMUTABLE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree

_STATUS: Final = field.Path("status")
_LIST_MAX: Final = 32
_RESERVED_MAX: Final = 256
_CONDITIONS_MAX: Final = 8
_IPS_MAX: Final = 16
_INTERFACE_MAX_BYTES: Final = 256
_HARDWARE_ADDRESS_MAX_BYTES: Final = 128
_UUID: Final = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NOT_NORMALIZED: Final = "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters"


def validate_claim_status(obj: Tree, old: Tree) -> Iterator[FieldError]:
    """Validate an update of the status."""
    status, before = obj.get("status") or {}, old.get("status") or {}
    request_names = RequestNames(obj.get("spec") or {})
    allocation, path = status.get("allocation"), _STATUS.child("reservedFor")
    reserved = status.get("reservedFor") or []
    yield from check_set(
        reserved, path, _validate_consumer, key=lambda consumer: consumer.get("uid") or "", max_items=_RESERVED_MAX
    )
    yield from _validate_devices(status, _STATUS.child("devices"))
    if reserved and allocation is None:
        yield field.forbidden(path, "may not be specified when `allocated` is not set")
    old_consumers = set(map(tree_key, before.get("reservedFor") or ()))
    added = any(tree_key(consumer) not in old_consumers for consumer in reserved)
    if added and allocation is not None and obj["metadata"].get("deletionTimestamp"):
        detail = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
        yield field.forbidden(path, detail)
    path = _STATUS.child("allocation")
    if allocation is not None and before.get("allocation") is not None:
        if allocation != before["allocation"]:
            yield field.invalid(path, go_form("AllocationResult", allocation), FIELD_IS_IMMUTABLE)
    elif allocation is not None:
        yield from _validate_allocation(allocation, path, request_names)


def _validate_consumer(consumer: Tree, path: Path) -> Iterator[FieldError]:
    for name in ("resource", "name", "uid"):
        if not consumer.get(name):
            yield field.required(path.child(name))


def _validate_allocation(allocation: Tree, path: Path, request_names: RequestNames) -> Iterator[FieldError]:
    def check_result(result: Tree, result_path: Path) -> Iterator[FieldError]:
        yield from request_names.check(result.get("request") or "", result_path.child("request"))
        yield from _check_device(result, result_path)
        yield from check_binding_conditions(result, result_path)
        yield from _check_share(result, result_path)

    def check_config(config: Tree, config_path: Path) -> Iterator[FieldError]:
        source = config.get("source") or ""
        if not source:
            yield field.required(config_path.child("source"))
        elif source not in ("FromClaim", "FromClass"):
            yield field.not_supported(config_path.child("source"), source, ("FromClaim", "FromClass"))
        devices_path = config_path.child("requests")
        yield from check_set(config.get("requests"), devices_path, request_names.check, key=str, max_items=_LIST_MAX)
        yield from check_opaque(config, config_path)

    devices, devices_path = allocation.get("devices") or {}, path.child("devices")
    yield from check_list(devices.get("results"), devices_path.child("results"), check_result, max_items=_LIST_MAX)
    yield from check_list(devices.get("config"), devices_path.child("config"), check_config, max_items=2 * _LIST_MAX)
    if allocation.get("nodeSelector") is not None:
        yield from validate_node_selector(allocation["nodeSelector"], path.child("nodeSelector"))


def _check_device(device: Tree, path: Path) -> Iterator[FieldError]:
    yield from check_driver(device.get("driver"), path.child("driver"))
    yield from check_pool(device.get("pool"), path.child("pool"))
    yield from check_label_name(device.get("device"), path.child("device"))


def _check_share(device: Tree, path: Path) -> Iterator[FieldError]:
    share = device.get("shareID")
    if share is None or _UUID.fullmatch(share):
        return
    fault = uuid_fault(share)
    detail = f"error validating uid: {fault}" if fault else _NOT_NORMALIZED
    yield field.invalid(path.child("shareID"), share, detail)


def _identity(device: Tree) -> tuple[str, ...]:
    return tuple(device.get(name) or "" for name in ("driver", "pool", "device", "shareID"))


def _shown_identity(identity: tuple[str, ...]) -> Tree:
    return dict(zip(("Driver", "Pool", "Device", "ShareID"), identity, strict=True))


def _validate_devices(status: Tree, path: Path) -> Iterator[FieldError]:
    results = ((status.get("allocation") or {}).get("devices") or {}).get("results") or ()
    allocated = {_identity(result) for result in results}

    def check_device(device: Tree, device_path: Path) -> Iterator[FieldError]:
        yield from _check_device(device, device_path)
        yield from _check_share(device, device_path)
        if _identity(device) not in allocated:
            shown = _shown_identity(_identity(device))
            yield field.invalid(device_path, shown, "must be an allocated device in the claim")
        conditions, conditions_path = device.get("conditions") or (), device_path.child("conditions")
        if len(conditions) > _CONDITIONS_MAX:
            yield field.too_many(conditions_path, len(conditions), max_items=_CONDITIONS_MAX)
        yield from validate_conditions(conditions, conditions_path)
        if device.get("data") is not None:
            yield from check_raw(device["data"], device_path.child("data"))
        yield from _validate_network(device.get("networkData") or {}, device_path.child("networkData"))

    yield from check_set(
        status.get("devices"), path, check_device, key=_identity, max_items=-1, shown_key=_shown_identity
    )


def _validate_network(data: Tree, path: Path) -> Iterator[FieldError]:
    limits = (("interfaceName", _INTERFACE_MAX_BYTES), ("hardwareAddress", _HARDWARE_ADDRESS_MAX_BYTES))
    for name, most in limits:
        if len((data.get(name) or "").encode()) > most:
            yield field.too_long(path.child(name), max_bytes=most)
    yield from check_set(data.get("ips"), path.child("ips"), _check_interface_address, key=str, max_items=_IPS_MAX)


def _check_interface_address(text: str, path: Path) -> Iterator[FieldError]:
    """Validate an address with prefix length in canonical form, for example ``192.0.2.5/24``."""
    address, slash, length = text.partition("/")
    ip = parse_ip(address)
    if ip is None or not slash or not length.isdecimal() or int(length) > ip.max_prefixlen:
        detail = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"
        yield field.invalid(path, text, detail)
    elif f"{ip}/{int(length)}" != text:
        yield field.invalid(path, text, f'must be in canonical form ("{ip}/{int(length)}")')
