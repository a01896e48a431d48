from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, NOW, SELECTOR, defaulted, edited, named

from steersman.apiserver.kinds.networking.networkpolicy.strategy import NetworkPolicyStrategy

STRATEGY = NetworkPolicyStrategy()


@pytest.mark.parametrize(
    ("spec", "types"),
    [
        ({}, ["Ingress"]),
        ({"ingress": [{}]}, ["Ingress"]),
        ({"egress": [{}]}, ["Ingress", "Egress"]),
        ({"egress": [{}], "policyTypes": ["Egress"]}, ["Egress"]),
    ],
)
def test_default_sets_policy_types_by_rules(spec, types):
    assert defaulted(STRATEGY, {"spec": dict(spec)})["spec"]["policyTypes"] == types


@pytest.mark.parametrize("direction", ["ingress", "egress"])
def test_default_sets_protocol_tcp(direction):
    tree = {"spec": {direction: [{"ports": [{"port": 1}, {"port": 2, "protocol": "UDP"}]}]}}
    [rule] = defaulted(STRATEGY, tree)["spec"][direction]
    assert [port["protocol"] for port in rule["ports"]] == ["TCP", "UDP"]


def test_warnings_about_non_canonical_cidrs():
    blocks = [{"to": [{"ipBlock": {"cidr": "10.0.0.1/8"}}]}]
    assert STRATEGY.warnings(CONTEXT, named(spec={"egress": blocks}), None) == [
        (
            'spec.egress[0].to[0].ipBlock.cidr: CIDR value "10.0.0.1/8" is ambiguous in this context '
            '(should be "10.0.0.0/8" or "10.0.0.1/32"?)'
        )
    ]


@pytest.mark.parametrize(("selector", "shown"), [(SELECTOR, "app=a"), ({}, "<none>")])
def test_cells_show_pod_selector(selector, shown):
    assert STRATEGY.cells(edited(named(), {"spec.podSelector": selector}), NOW) == ["a", shown, "60s"]
