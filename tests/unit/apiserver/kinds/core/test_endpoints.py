"""Endpoints."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import NOW, context, defaulted, error_texts, is_idempotent, tree

from steersman.apiserver.kinds.core.endpoints import EndpointsStrategy, host_port

KIND = EndpointsStrategy()


def subset(*ips: str, ports: tuple[int, ...] = ()) -> dict:
    return {"addresses": [{"ip": ip} for ip in ips], "ports": [{"port": port} for port in ports]}


def test_default_sets_protocol_tcp():
    obj = tree(subsets=[subset("10.0.0.1", ports=(80,))])
    assert defaulted(KIND, obj)["subsets"][0]["ports"] == [{"port": 80, "protocol": "TCP"}]
    assert is_idempotent(KIND, obj)


@pytest.mark.parametrize(
    ("subsets", "text"),
    [
        ([], "<none>"),
        ([subset("10.0.0.1")], "10.0.0.1"),
        ([subset("10.0.0.1", "fd00::1", ports=(80,))], "10.0.0.1:80,[fd00::1]:80"),
        ([subset("10.0.0.1", "10.0.0.2", ports=(80, 81))], "10.0.0.1:80,10.0.0.2:80,10.0.0.1:81 + 1 more..."),
    ],
)
def test_cells_show_first_three_addresses(subsets: list[dict], text: str):
    assert [column.name for column in KIND.columns] == ["Name", "Endpoints", "Age"]
    assert KIND.cells(tree(subsets=subsets), NOW) == ["a", text, "60s"]


def test_validate_on_create_and_update():
    obj = tree(subsets=[{}])
    fault = ["subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`"]
    assert error_texts(KIND.validate(context(), obj)) == error_texts(KIND.validate_update(context(), obj, obj)) == fault


def test_warnings_about_non_canonical_addresses():
    (warning,) = KIND.warnings(context(), tree(subsets=[subset("2001:DB8::1")]), None)
    assert warning.startswith('subsets[0].addresses[0].ip: IPv6 address "2001:DB8::1" should be in RFC 5952')


def test_warnings_skip_objects_of_endpoints_controller():
    managed = {"labels": {"endpoints.kubernetes.io/managed-by": "endpoint-controller"}}
    assert list(KIND.warnings(context(), tree(managed, subsets=[subset("2001:DB8::1")]), None)) == []


def test_host_port_puts_ipv6_in_brackets():
    assert (host_port("10.0.0.1", 80), host_port("fd00::1", 80)) == ("10.0.0.1:80", "[fd00::1]:80")
