from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import NOW

from steersman.apiserver.kinds.core.service.quota import ServiceEvaluator
from steersman.apiserver.kinds.shared.quota.amounts import texts

SERVICES = ServiceEvaluator()
PORTS = [{"port": 80}, {"port": 81, "nodePort": 30000}]


@pytest.mark.parametrize(
    ("spec", "node_ports", "balancers"),
    [
        ({"type": "ClusterIP"}, "0", "0"),
        ({"type": "ExternalName"}, "0", "0"),
        ({"type": "NodePort"}, "2", "0"),
        ({"type": "LoadBalancer"}, "2", "1"),
        ({"type": "LoadBalancer", "allocateLoadBalancerNodePorts": True}, "2", "1"),
        ({"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False}, "1", "1"),
    ],
)
def test_usage_by_type(spec, node_ports, balancers):
    assert texts(SERVICES.usage({"spec": {"ports": PORTS, **spec}}, NOW)) == {
        "count/services": "1",
        "services": "1",
        "services.nodeports": node_ports,
        "services.loadbalancers": balancers,
    }


def test_matching_resources_of_services():
    assert SERVICES.matching(["pods", "services.nodeports", "services"]) == ["services", "services.nodeports"]
    assert SERVICES.counts_updates
