"""Quota evaluators of PersistentVolumeClaims (by size and class) and ResourceClaims (by device class)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.quantity import Quantity
from steersman.apiserver.generic.columns import storage_class_of
from steersman.apiserver.kinds.shared.quota.amounts import ONE, ZERO, plus, read
from steersman.apiserver.kinds.shared.quota.evaluator import Evaluator, is_selected

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.kinds.shared.quota.amounts import Amounts

_VOLUMES: Final = "persistentvolumeclaims"
_STORAGE: Final = "requests.storage"
_OF_CLASS: Final = ".storageclass.storage.k8s.io/"
_OF_DEVICES: Final = ".deviceclass.resource.k8s.io/devices"
_DEVICE_CLAIMS: Final = "resourceclaims.resource.k8s.io"
#: Devices charged for a request with mode ``All``. Upstream: ``AllocationResultsMaxSize``.
_DEVICES_MAX: Final = 32


class VolumeClaimEvaluator(Evaluator):
    """Quota evaluator of PersistentVolumeClaims. An update may change the size and the volume attributes class.

    The status has the allocated size and the class in use.
    """

    counts_updates = True
    counted_subresources = ("status",)

    def __init__(self) -> None:
        super().__init__(_VOLUMES)

    def matching(self, names: Iterable[str]) -> list[str]:
        plain_names = (f"count/{_VOLUMES}", _VOLUMES, _STORAGE)
        suffixes = (f"{_OF_CLASS}{_VOLUMES}", f"{_OF_CLASS}{_STORAGE}")
        return sorted(name for name in names if name in plain_names or name.endswith(suffixes))

    def usage(self, obj: Tree, now: datetime) -> Amounts:
        size = read(((obj.get("spec") or {}).get("resources") or {}).get("requests")).get("storage")
        allocated = read((obj.get("status") or {}).get("allocatedResources")).get("storage")
        if size is not None and allocated is not None and allocated > size:
            size = allocated
        usage = {f"count/{_VOLUMES}": ONE, _VOLUMES: ONE}
        if size is not None:
            size = Quantity.of(int(size), size.format)
            usage[_STORAGE] = size
        name = storage_class_of(obj)
        if name:
            usage[f"{name}{_OF_CLASS}{_VOLUMES}"] = ONE
            if size is not None:
                usage[f"{name}{_OF_CLASS}{_STORAGE}"] = size
        return usage

    def is_in_scope(self, selector: Tree, obj: Tree) -> bool:
        if selector.get("scopeName") != "VolumeAttributesClass":
            return False
        status = obj.get("status") or {}
        names = {
            (obj.get("spec") or {}).get("volumeAttributesClassName"),
            status.get("currentVolumeAttributesClassName"),
            (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName"),
        } - {None, ""}
        return any(is_selected(selector, name) for name in names) if names else is_selected(selector, None)


class DeviceClaimEvaluator(Evaluator):
    """Quota evaluator of ResourceClaims.

    Of alternatives (``firstAvailable``), the highest usage of each device class is charged.
    """

    counts_updates = True

    def __init__(self) -> None:
        super().__init__(_DEVICE_CLAIMS)

    def matching(self, names: Iterable[str]) -> list[str]:
        return sorted(name for name in names if name == f"count/{_DEVICE_CLAIMS}" or name.endswith(_OF_DEVICES))

    def usage(self, obj: Tree, now: datetime) -> Amounts:
        usage: Amounts = {f"count/{_DEVICE_CLAIMS}": ONE}
        for request in ((obj.get("spec") or {}).get("devices") or {}).get("requests") or ():
            usage = plus(usage, _worst(request))
        return usage


def _worst(request: Tree) -> Amounts:
    worst: Amounts = {}
    for choice in [request["exactly"]] if request.get("exactly") else request.get("firstAvailable") or ():
        asks_for_all = choice.get("allocationMode") == "All"
        count = Quantity.of(_DEVICES_MAX if asks_for_all else choice.get("count", 1))
        name = f"{choice.get('deviceClassName', '')}{_OF_DEVICES}"
        if count > worst.get(name, ZERO):
            worst[name] = count
    return worst
