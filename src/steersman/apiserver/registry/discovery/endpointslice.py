"""EndpointSlices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apiserver.registry import columns
from steersman.apiserver.registry.strategy import Column, Strategy, Tree

if TYPE_CHECKING:
    from datetime import datetime


class EndpointSliceStrategy(Strategy):
    """All but the metadata counts for its generation, and of the metadata the labels do."""

    group_resource = "endpointslices.discovery.k8s.io"
    has_generation = True
    allow_create_on_update = False
    columns = (
        columns.NAME_COLUMN,
        Column("AddressType"),
        Column("Ports"),
        Column("Endpoints"),
        columns.AGE_COLUMN,
    )

    def default(self, obj: Tree, version: str) -> None:
        for port in obj.get("ports") or ():
            if port.get("name") is None:
                port["name"] = ""
            if port.get("protocol") is None:
                port["protocol"] = "TCP"

    def generation_view(self, obj: Tree) -> Any:
        content = {key: value for key, value in obj.items() if key not in ("kind", "apiVersion", "metadata")}
        return content, obj["metadata"].get("labels") or None

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        addresses = [address for endpoint in obj.get("endpoints") or () for address in endpoint.get("addresses") or ()]
        return [
            columns.name_of(obj),
            obj.get("addressType", ""),
            _ports(obj.get("ports") or ()),
            columns.first_and_more(addresses, 3) if addresses else columns.UNSET,
            columns.age(obj, now),
        ]


def _ports(ports: Any) -> str:
    if not ports:
        return columns.UNSET
    texts = []
    for port in ports:
        if port.get("port") is not None:
            texts.append(str(port["port"]))
        else:
            texts.append(port.get("name") or "*")
    return columns.first_and_more(texts, 3)
