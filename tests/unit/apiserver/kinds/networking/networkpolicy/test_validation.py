from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import SELECTOR, edited, named, texts

from steersman.apiserver.kinds.networking.networkpolicy.validation import (
    network_policy_warnings,
    validate_network_policy,
)

BLOCK = {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}
RULE = {"ports": [{"protocol": "TCP", "port": 80}], "from": [{"ipBlock": BLOCK}]}
VALID = named(spec={"podSelector": SELECTOR, "ingress": [RULE], "policyTypes": ["Ingress"]})
PORT, AT_PORT = "spec.ingress[0].ports[0]", "spec.ingress.0.ports.0"
PEER, AT_PEER = "spec.ingress[0].from[0]", "spec.ingress.0.from.0"
BAD_VALUE = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["not valid"]}]}


@pytest.mark.parametrize(
    "edits",
    [
        {},
        {f"{AT_PORT}.endPort": 90},
        {f"{AT_PORT}.port": "http"},
        {AT_PORT: {"protocol": "SCTP"}},
        {AT_PEER: {"podSelector": {}, "namespaceSelector": {}}},
        {"spec.policyTypes": ["Ingress", "Egress"]},
    ],
)
def test_validate_network_policy_accepts_valid_policies(edits):
    assert texts(validate_network_policy(edited(VALID, edits))) == []


@pytest.mark.parametrize(
    ("edits", "fault"),
    [
        (
            {f"{AT_PORT}.protocol": "ICMP"},
            f'{PORT}.protocol: Unsupported value: "ICMP": supported values: "TCP", "UDP", "SCTP"',
        ),
        ({f"{AT_PORT}.port": 0}, f"{PORT}.port: Invalid value: 0: must be between 1 and 65535, inclusive"),
        (
            {f"{AT_PORT}.endPort": 70},
            f"{PORT}.endPort: Invalid value: 80: must be greater than or equal to `port`",
        ),
        (
            {f"{AT_PORT}.endPort": 70000},
            f"{PORT}.endPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
        ),
        (
            {AT_PORT: {"port": "http", "endPort": 90}},
            f"{PORT}.endPort: Invalid value: 90: may not be specified when `port` is non-numeric",
        ),
        (
            {AT_PORT: {"endPort": 90}},
            f"{PORT}.endPort: Invalid value: 90: may not be specified when `port` is not specified",
        ),
        ({AT_PEER: {}}, f"{PEER}: Required value: must specify a peer"),
        ({f"{AT_PEER}.podSelector": {}}, f"{PEER}: Forbidden: may not specify both ipBlock and another peer"),
        ({f"{AT_PEER}.ipBlock.cidr": ""}, f"{PEER}.ipBlock.cidr: Required value"),
        (
            {f"{AT_PEER}.ipBlock.except": ["11.0.0.0/16"]},
            f'{PEER}.ipBlock.except[0]: Invalid value: "11.0.0.0/16": must be a strict subset of `cidr`',
        ),
        (
            {f"{AT_PEER}.ipBlock.except": ["10.0.0.0/8"]},
            f'{PEER}.ipBlock.except[0]: Invalid value: "10.0.0.0/8": must be a strict subset of `cidr`',
        ),
        (
            {f"{AT_PEER}.ipBlock": {"cidr": "10.0.0.1"}},
            f'{PEER}.ipBlock.cidr: Invalid value: "10.0.0.1": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
        ),
        (
            {"spec.policyTypes": ["Other"]},
            'spec.policyTypes[0]: Unsupported value: "Other": supported values: "Ingress", "Egress"',
        ),
        (
            {"spec.policyTypes": ["Ingress"] * 3},
            'spec.policyTypes: Invalid value: ["Ingress","Ingress","Ingress"]: may not specify more than two policyTypes',
        ),
    ],
)
def test_validate_network_policy_rejects_invalid_fields(edits, fault):
    assert texts(validate_network_policy(edited(VALID, edits))) == [fault]


def test_validate_network_policy_accepts_legacy_cidr_of_old_policy_only():
    odd = edited(VALID, {f"{AT_PEER}.ipBlock": {"cidr": "010.0.0.0/8"}})
    assert texts(validate_network_policy(odd, odd)) == []
    assert texts(validate_network_policy(odd, VALID)) == [
        f'{PEER}.ipBlock.cidr: Invalid value: "010.0.0.0/8": must not have leading 0s in IP or prefix length'
    ]


def test_validate_network_policy_accepts_invalid_selector_values_of_old_policy():
    lax = edited(VALID, {"spec.podSelector": BAD_VALUE})
    [fault] = texts(validate_network_policy(lax))
    assert fault.startswith('spec.podSelector.matchExpressions[0].values[0]: Invalid value: "not valid": ')
    assert texts(validate_network_policy(lax, lax)) == []


def test_network_policy_warnings_about_exceptions():
    odd = edited(VALID, {f"{AT_PEER}.ipBlock.except": ["10.1.0.5/16"]})
    assert list(network_policy_warnings(odd)) == [
        (
            f'{PEER}.ipBlock.except[0]: CIDR value "10.1.0.5/16" is ambiguous in this context '
            '(should be "10.1.0.0/16" or "10.1.0.5/32"?)'
        )
    ]
