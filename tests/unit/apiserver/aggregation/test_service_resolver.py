"""Locations of Services."""

import pytest

from steersman.apiserver.aggregation.service_resolver import ResolveError, resolve
from steersman.apiserver.webhooks.services import Address

SERVICE = {"spec": {"ports": [{"port": 443}]}}


def resolved(service, slices=()):
    return resolve(service, slices, namespace="n", name="s", port=443)


def test_resolve_returns_ready_endpoints_with_their_node():
    endpoints = [
        {"addresses": ["10.1.0.1"], "nodeName": "node-0"},
        {"addresses": ["10.1.0.2"], "conditions": {"ready": False}},
    ]
    slices = [{"ports": [{"port": 8443}], "endpoints": endpoints}]
    assert resolved(SERVICE, slices) == [Address("10.1.0.1", 8443, "node-0")]


def test_resolve_returns_the_external_name():
    assert resolved({"spec": {"type": "ExternalName", "externalName": "localhost"}}) == [Address("localhost", 443)]


@pytest.mark.parametrize(
    ("service", "text"),
    [
        (None, 'service "s" not found'),
        ({"spec": {}}, "no service port 443 found for service"),
        (SERVICE, 'no endpoints available for service "n/s"'),
    ],
)
def test_resolve_raises_without_an_address(service, text):
    with pytest.raises(ResolveError, match=text):
        resolved(service)
