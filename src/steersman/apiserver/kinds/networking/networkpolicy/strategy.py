"""Strategy of NetworkPolicies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apiserver.generic import columns
from steersman.apiserver.generic.strategy import Column, Strategy
from steersman.apiserver.kinds.networking.networkpolicy.validation import (
    network_policy_warnings,
    validate_network_policy,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext


class NetworkPolicyStrategy(Strategy):
    """Strategy of NetworkPolicies. ``policyTypes`` default to Ingress, and Egress if there are egress rules."""

    group_resource = "networkpolicies.networking.k8s.io"
    has_generation = True
    columns = (
        columns.NAME_COLUMN,
        Column("Pod-Selector", field="networking.v1.NetworkPolicySpec.podSelector"),
        columns.AGE_COLUMN,
    )

    def default(self, obj: Tree, version: str) -> None:
        spec = obj.setdefault("spec", {})
        for direction in ("ingress", "egress"):
            for rule in spec.get(direction) or ():
                for port in rule.get("ports") or ():
                    if port.get("protocol") is None:
                        port["protocol"] = "TCP"
        if not spec.get("policyTypes"):
            spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return list(validate_network_policy(obj))

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return list(validate_network_policy(obj, old))

    def warnings(self, ctx: RequestContext, obj: Tree, old: Tree | None) -> Sequence[str]:
        return list(network_policy_warnings(obj))

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        selector = (obj.get("spec") or {}).get("podSelector")
        return [columns.name_of(obj), columns.selector_text(selector), columns.age(obj, now)]
