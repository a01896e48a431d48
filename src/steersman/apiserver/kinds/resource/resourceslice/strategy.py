"""Strategy of ResourceSlices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.gotext import quote
from steersman.apimachinery.timestamps import format_time
from steersman.apiserver.generic import columns
from steersman.apiserver.generic.strategy import Column, Strategy
from steersman.apiserver.kinds.resource.resourceslice.validation import validate_slice

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext

_LIST_VALUES: Final = ("bools", "ints", "strings", "versions")


class ResourceSliceStrategy(Strategy):
    """Strategy of ResourceSlices, with field labels for node and driver."""

    group_resource = "resourceslices.resource.k8s.io"
    returns_deleted_object = True
    has_generation = True
    namespace_field_label = False
    columns = (
        columns.NAME_COLUMN,
        Column("Node", field="resource.v1.ResourceSliceSpec.nodeName"),
        Column("Driver", field="resource.v1.ResourceSliceSpec.driver"),
        Column("Pool", field="resource.v1.ResourcePool.name"),
        columns.AGE_COLUMN,
    )
    field_labels = {
        "spec.nodeName": lambda obj: obj["spec"].get("nodeName") or "",
        "spec.driver": lambda obj: obj["spec"].get("driver") or "",
    }
    unknown_field_label = "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: {label}"

    def prepare_for_create(self, ctx: RequestContext, obj: Tree) -> None:
        super().prepare_for_create(ctx, obj)
        _drop_disabled(obj, {})
        _default_time_added(obj, {}, now=format_time(ctx.now))

    def prepare_for_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        super().prepare_for_update(ctx, obj, old)
        _drop_disabled(obj, old)
        _default_time_added(obj, old, now=format_time(ctx.now))

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return list(validate_slice(obj))

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return list(validate_slice(obj, old))

    def warnings(self, ctx: RequestContext, obj: Tree, old: Tree | None) -> Sequence[str]:
        driver = (obj.get("spec") or {}).get("driver") or ""
        if driver == driver.lower():
            return ()
        return (f"spec.driver: driver names should be lowercase; {quote(driver)} contains uppercase characters",)

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        spec = obj.get("spec") or {}
        return [
            columns.name_of(obj),
            spec.get("nodeName") or columns.UNSET,
            spec.get("driver", ""),
            (spec.get("pool") or {}).get("name", ""),
            columns.age(obj, now),
        ]


def _drop_disabled(obj: Tree, old: Tree) -> None:
    """Drop fields whose feature gates are off in Kubernetes 1.36, unless the old object uses them.

    Gates: ``DRANodeAllocatableResources`` and ``DRAListTypeAttributes``. Upstream: ``dropDisabledFields`` in
    ``pkg/registry/resource/resourceslice/strategy.go``.
    """
    if not any(device.get("nodeAllocatableResourceMappings") for device in _devices(old)):
        for device in _devices(obj):
            device.pop("nodeAllocatableResourceMappings", None)
    if not any(name in attribute for attribute in _attributes(old) for name in _LIST_VALUES):
        for attribute in _attributes(obj):
            for name in _LIST_VALUES:
                attribute.pop(name, None)


def _devices(obj: Tree) -> Sequence[Tree]:
    devices: Sequence[Tree] = (obj.get("spec") or {}).get("devices") or ()
    return devices


def _attributes(obj: Tree) -> Iterator[Tree]:
    for device in _devices(obj):
        yield from (device.get("attributes") or {}).values()


def _default_time_added(obj: Tree, old: Tree, *, now: str) -> None:
    """Default ``timeAdded`` of taints: to the old time for existing taints, else to ``now``.

    Upstream's ``SetDefaults_DeviceTaint`` sets now for existing taints too, so that each update postpones evictions.
    """
    since = {place: taint.get("timeAdded") for place, taint in _taints(old)}
    for place, taint in _taints(obj):
        if not taint.get("timeAdded"):
            taint["timeAdded"] = since.get(place) or now


def _taints(obj: Tree) -> Iterator[tuple[tuple[str, ...], Tree]]:
    """Yield each taint with its identity."""
    for device in _devices(obj):
        for taint in device.get("taints") or ():
            yield (device.get("name", ""), *(taint.get(key) or "" for key in ("key", "value", "effect"))), taint
