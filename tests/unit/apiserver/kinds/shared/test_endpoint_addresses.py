"""Validation of endpoint addresses."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import error_texts, tree

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.shared.endpoint_addresses import (
    validate_endpoint_ip,
    validate_endpoint_port,
    validate_subsets,
)

P = Path("ip")


@pytest.mark.parametrize("text", ["10.0.0.1", "2001:db8::1", "224.0.1.0", "not an address"])
def test_validate_endpoint_ip_accepts_valid_addresses(text: str):
    assert error_texts(validate_endpoint_ip(text, P)) == []


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("0.0.0.0", "may not be unspecified (0.0.0.0)"),
        ("::", "may not be unspecified (::)"),
        ("127.0.0.1", "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
        ("::1", "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
        ("169.254.1.1", "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
        ("fe80::1", "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
        ("224.0.0.1", "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"),
        ("ff02::1", "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"),
    ],
)
def test_validate_endpoint_ip_rejects_special_addresses(text: str, detail: str):
    assert error_texts(validate_endpoint_ip(text, P)) == [f'ip: Invalid value: "{text}": {detail}']


def faults(**subset: object) -> list[str]:
    return error_texts(validate_subsets(tree(subsets=[subset])))


def test_validate_subsets_requires_addresses():
    assert faults(addresses=[{"ip": "10.0.0.1"}], ports=[{"port": 80, "protocol": "TCP"}]) == []
    assert faults(notReadyAddresses=[{"ip": "10.0.0.1", "nodeName": "n.x", "hostname": "h"}]) == []
    assert faults() == ["subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`"]


@pytest.mark.parametrize("part", ["hostname", "nodeName"])
def test_validate_subsets_requires_dns_labels_as_hostnames(part: str):
    (fault,) = faults(addresses=[{"ip": "10.0.0.1", part: "A_"}])
    assert fault.startswith(f'subsets[0].addresses[0].{part}: Invalid value: "A_"')


def test_validate_subsets_reports_invalid_addresses():
    assert all(
        fault.startswith('subsets[0].notReadyAddresses[0].ip: Invalid value: "x": must be a valid IP address')
        for fault in faults(notReadyAddresses=[{"ip": "x"}])
    )
    assert faults(notReadyAddresses=[{"ip": "x"}])


@pytest.mark.parametrize(
    ("port", "needs_name", "faults_"),
    [
        ({"port": 80, "protocol": "TCP"}, False, []),
        ({"port": 80, "protocol": "TCP"}, True, ["ip.name: Required value"]),
        ({"port": 0, "protocol": "TCP"}, False, ["ip.port: Invalid value: 0: must be between 1 and 65535, inclusive"]),
        (
            {"port": 80, "protocol": "X"},
            False,
            ['ip.protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"'],
        ),
        ({"port": 80, "protocol": "TCP", "appProtocol": "kubernetes.io/h2c"}, False, []),
    ],
)
def test_validate_subsets_requires_names_of_several_ports(port: dict, needs_name: bool, faults_: list[str]):
    assert error_texts(validate_endpoint_port(port, P, needs_name=needs_name)) == faults_
