"""Quota evaluator of Services: count, node ports and load balancers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.quantity import Quantity
from steersman.apiserver.kinds.shared.quota.amounts import ONE, ZERO
from steersman.apiserver.kinds.shared.quota.evaluator import Evaluator

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.kinds.shared.quota.amounts import Amounts

_COUNT: Final = "count/services"
_NODE_PORTS: Final = "services.nodeports"
_LOAD_BALANCERS: Final = "services.loadbalancers"
_NAMES: Final = frozenset({_COUNT, "services", _NODE_PORTS, _LOAD_BALANCERS})


class ServiceEvaluator(Evaluator):
    """Quota evaluator of Services. An update may change the type and with it the usage."""

    counts_updates = True

    def __init__(self) -> None:
        super().__init__("services")

    def matching(self, names: Iterable[str]) -> list[str]:
        return sorted(name for name in names if name in _NAMES)

    def usage(self, obj: Tree, now: datetime) -> Amounts:
        spec = obj.get("spec") or {}
        ports = spec.get("ports") or ()
        node_ports = load_balancers = ZERO
        if spec.get("type") == "NodePort":
            node_ports = Quantity.of(len(ports))
        elif spec.get("type") == "LoadBalancer":
            load_balancers = ONE
            if spec.get("allocateLoadBalancerNodePorts") is False:
                ports = [port for port in ports if port.get("nodePort")]
            node_ports = Quantity.of(len(ports))
        return {_COUNT: ONE, "services": ONE, _NODE_PORTS: node_ports, _LOAD_BALANCERS: load_balancers}
