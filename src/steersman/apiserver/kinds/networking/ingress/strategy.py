"""Strategy of Ingresses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apiserver.generic import columns
from steersman.apiserver.generic.strategy import Column, Strategy
from steersman.apiserver.kinds.networking.ingress.validation import (
    CLASS_ANNOTATION,
    validate_ingress,
    validate_ingress_status,
    validate_ingress_update,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext

_HOSTS_SHOWN: Final = 3


class IngressStrategy(Strategy):
    """Strategy of Ingresses. The admission plugin DefaultIngressClass sets the class."""

    group_resource = "ingresses.networking.k8s.io"
    has_generation = True
    metadata_checks_on_update = (1, 1)
    columns = (
        columns.NAME_COLUMN,
        Column(
            "Class",
            description="The name of the IngressClass resource that should be used for additional configuration",
        ),
        Column("Hosts", description="Hosts that incoming requests are matched against before the ingress rule"),
        Column("Address", description="Address is a list containing ingress points for the load-balancer"),
        Column("Ports", description="Ports of TLS configurations that open"),
        columns.AGE_COLUMN,
    )

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return list(validate_ingress(obj))

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return list(validate_ingress_update(obj, old))

    def validate_status_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return list(validate_ingress_status(obj, old))

    def warnings(self, ctx: RequestContext, obj: Tree, old: Tree | None) -> Sequence[str]:
        if old is None and CLASS_ANNOTATION in (obj["metadata"].get("annotations") or {}):
            return [f"annotation \"{CLASS_ANNOTATION}\" is deprecated, please use 'spec.ingressClassName' instead"]
        return ()

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        spec = obj.get("spec") or {}
        return [
            columns.name_of(obj),
            spec.get("ingressClassName") or columns.NONE,
            _hosts(spec),
            _addresses(obj),
            "80, 443" if spec.get("tls") else "80",
            columns.age(obj, now),
        ]


def _hosts(spec: Tree) -> str:
    """Return the first three hosts of the rules and the number of further ones; ``*`` without any host."""
    rules = spec.get("rules") or ()
    places = [place for place, rule in enumerate(rules) if rule.get("host")][:_HOSTS_SHOWN]
    if not places:
        return "*"
    text = ",".join(rules[place]["host"] for place in places)
    is_all = len(places) < _HOSTS_SHOWN or places[-1] == len(rules) - 1
    return text if is_all else f"{text} + {len(rules) - _HOSTS_SHOWN} more..."


def _addresses(obj: Tree) -> str:
    balancer = (obj.get("status") or {}).get("loadBalancer") or {}
    addresses = {point.get("ip") or point.get("hostname") or "" for point in balancer.get("ingress") or ()}
    return ",".join(sorted(addresses - {""}))
