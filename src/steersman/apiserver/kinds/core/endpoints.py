"""Strategy of Endpoints. Validation is in ``kinds/shared/endpoint_addresses.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apiserver.generic.columns import AGE_COLUMN, NAME_COLUMN, NONE, age, first_and_more, name_of
from steersman.apiserver.generic.strategy import Column, Strategy
from steersman.apiserver.kinds.shared.address_warnings import ip_warnings
from steersman.apiserver.kinds.shared.endpoint_addresses import validate_subsets

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext

_SHOWN: Final = 3
_MANAGED_BY: Final = "endpoints.kubernetes.io/managed-by"
_CONTROLLER: Final = "endpoint-controller"


class EndpointsStrategy(Strategy):
    """Strategy of Endpoints: ``subsets`` at the top level, neither spec nor status."""

    group_resource = "endpoints"
    metadata_checks_on_update = (1, 1)
    allow_create_on_update = True
    reset_fields: ClassVar = {}
    columns = (NAME_COLUMN, Column("Endpoints", field="core.v1.Endpoints.subsets"), AGE_COLUMN)

    def default(self, obj: Tree, version: str) -> None:
        for subset in obj.get("subsets") or ():
            for port in subset.get("ports") or ():
                if not port.get("protocol"):
                    port["protocol"] = "TCP"

    def warnings(self, ctx: RequestContext, obj: Tree, old: Tree | None) -> Sequence[str]:
        if (obj["metadata"].get("labels") or {}).get(_MANAGED_BY) == _CONTROLLER:
            return ()
        return [
            text
            for position, subset in enumerate(obj.get("subsets") or ())
            for kind in ("addresses", "notReadyAddresses")
            for number, address in enumerate(subset.get(kind) or ())
            for text in ip_warnings(f"subsets[{position}].{kind}[{number}].ip", address.get("ip") or "")
        ]

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return validate_subsets(obj)

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return validate_subsets(obj)

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        return [name_of(obj), _endpoints_text(obj.get("subsets") or ()), age(obj, now)]


def _endpoints_text(subsets: Sequence[Tree]) -> str:
    if not subsets:
        return NONE
    listed: list[str] = []
    for subset in subsets:
        addresses = [address.get("ip", "") for address in subset.get("addresses") or ()]
        ports = subset.get("ports") or ()
        if not ports:
            listed += addresses
        for port in ports:
            listed += [host_port(ip, port.get("port", 0)) for ip in addresses]
    return first_and_more(listed, _SHOWN)


def host_port(ip: str, port: int) -> str:
    """Return ``host:port``, with brackets around an IPv6 address. Go: ``net.JoinHostPort``."""
    return f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"
