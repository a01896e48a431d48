"""Strategy of EndpointSlices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apiserver.generic import columns
from steersman.apiserver.generic.strategy import Column, Strategy
from steersman.apiserver.kinds.discovery.endpointslice.validation import (
    endpoint_slice_warnings,
    validate_endpoint_slice,
    validate_endpoint_slice_update,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext


class EndpointSliceStrategy(Strategy):
    """Strategy of EndpointSlices. Generation follows labels and all fields outside of metadata."""

    group_resource = "endpointslices.discovery.k8s.io"
    has_generation = True
    allow_create_on_update = False
    metadata_checks_on_update = (0, 1)
    columns = (
        columns.NAME_COLUMN,
        Column("AddressType", field="discovery.v1.EndpointSlice.addressType"),
        Column("Ports", field="discovery.v1.EndpointSlice.ports"),
        Column("Endpoints", field="discovery.v1.EndpointSlice.endpoints"),
        columns.AGE_COLUMN,
    )

    def default(self, obj: Tree, version: str) -> None:
        for port in obj.get("ports") or ():
            if port.get("name") is None:
                port["name"] = ""
            if port.get("protocol") is None:
                port["protocol"] = "TCP"

    def prepare_for_create(self, ctx: RequestContext, obj: Tree) -> None:
        super().prepare_for_create(ctx, obj)
        _drop_topology(obj)

    def prepare_for_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        """Raise the generation also for ``deprecatedTopology``, which is dropped afterwards."""
        super().prepare_for_update(ctx, obj, old)
        if obj.get("endpoints") != old.get("endpoints") and _drop_topology(obj):
            obj["metadata"]["generation"] = (old["metadata"].get("generation") or 0) + 1

    def generation_view(self, obj: Tree) -> Any:
        content = {key: value for key, value in obj.items() if key not in ("kind", "apiVersion", "metadata")}
        return content, obj["metadata"].get("labels") or None

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return list(validate_endpoint_slice(obj))

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return list(validate_endpoint_slice_update(obj, old))

    def warnings(self, ctx: RequestContext, obj: Tree, old: Tree | None) -> Sequence[str]:
        return list(endpoint_slice_warnings(obj, old))

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        addresses = [address for endpoint in obj.get("endpoints") or () for address in endpoint.get("addresses") or ()]
        return [
            columns.name_of(obj),
            obj.get("addressType", ""),
            _ports(obj.get("ports") or ()),
            columns.first_and_more(addresses, 3) if addresses else columns.UNSET,
            columns.age(obj, now),
        ]


def _drop_topology(obj: Tree) -> bool:
    """Drop ``deprecatedTopology``, which is read-only in v1. Returns whether any was set."""
    endpoints = obj.get("endpoints") or ()
    if not any("deprecatedTopology" in endpoint for endpoint in endpoints):
        return False
    obj["endpoints"] = [{k: v for k, v in endpoint.items() if k != "deprecatedTopology"} for endpoint in endpoints]
    return True


def _ports(ports: Any) -> str:
    texts = [str(port["port"]) if port.get("port") is not None else port.get("name") or "" for port in ports]
    return columns.first_and_more(texts, 3) or columns.UNSET
