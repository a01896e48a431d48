"""Published address of a server."""

import pytest

from steersman.controlplane.bootstrap.public_address import (
    PublicEndpoint,
    host_address,
    is_on_an_interface,
    public_address,
)
from steersman.controlplane.options import APIServerOptions, OptionError


def find_host(version):
    return {4: "192.0.2.99", 6: "2001:db8::99"}[version]


@pytest.mark.parametrize(
    ("options", "address"),
    [
        ({"advertise_address": "192.0.2.1"}, "192.0.2.1"),
        ({"bind_address": "192.0.2.2"}, "192.0.2.2"),
        ({"bind_address": "127.0.0.1"}, "192.0.2.99"),
        ({"bind_address": "0.0.0.0"}, "192.0.2.99"),
        ({"advertise_address": "::1", "service_cluster_ip_range": "fd00::/112"}, "2001:db8::99"),
        ({"advertise_address": "api.example.com"}, "192.0.2.99"),
        ({"advertise_address": "2001:db8::1", "service_cluster_ip_range": "fd00::/112,10.0.0.0/24"}, "2001:db8::1"),
        ({"advertise_address": "2001:db8::1", "endpoint_reconciler_type": "none"}, "2001:db8::1"),
    ],
)
def test_public_address_is_reachable_by_others(options, address):
    assert public_address(APIServerOptions(**options), find_host=find_host) == address


def test_public_address_of_another_family_than_services_is_rejected():
    options = APIServerOptions(advertise_address="2001:db8::1")
    with pytest.raises(OptionError, match=r'service IP family "10\.0\.0\.0/24" must match public address family'):
        public_address(options, find_host=find_host)


def test_public_address_of_another_family_is_accepted_without_endpoint_reconciler():
    options = APIServerOptions(advertise_address="2001:db8::1", endpoint_reconciler_type="none")
    assert public_address(options, find_host=find_host) == "2001:db8::1"


@pytest.mark.parametrize("obj", ["", "127.0.0.1"])
def test_public_address_is_none_without_network(obj):
    assert public_address(APIServerOptions(), find_host=lambda _: obj) == ""


def test_host_address_returns_a_text_for_both_families():
    assert isinstance(host_address(4), str)
    assert isinstance(host_address(6), str)


def test_places_as_in_urls():
    assert PublicEndpoint("192.0.2.1", 6443).authority == "192.0.2.1:6443"
    assert PublicEndpoint("2001:db8::1", 6443).authority == "[2001:db8::1]:6443"


def test_advertise_address_without_interface_is_logged(caplog):
    options = APIServerOptions(advertise_address="192.0.2.1")
    assert public_address(options, find_host=find_host, is_local=lambda _: False) == "192.0.2.1"
    assert caplog.messages == ["no interface of this machine has the advertise address 192.0.2.1"]


@pytest.mark.parametrize(("obj", "published"), [("192.0.2.99", "192.0.2.99"), ("", "no address")])
def test_unpublished_advertise_address_is_logged(caplog, obj, published):
    public_address(APIServerOptions(advertise_address="127.0.0.1"), find_host=lambda _: obj)
    assert caplog.messages == [
        f"the advertise address 127.0.0.1 is not published, as other machines cannot reach it: {published} is"
    ]


@pytest.mark.parametrize("options", [{"advertise_address": "192.0.2.1"}, {"bind_address": "192.0.2.1"}, {}])
def test_valid_advertise_address_is_not_logged(caplog, options):
    public_address(APIServerOptions(**options), find_host=find_host, is_local=lambda _: True)
    assert caplog.messages == []


@pytest.mark.parametrize(("address", "expected"), [("127.0.0.1", True), ("192.0.2.1", False), ("2001:db8::1", False)])
def test_is_on_an_interface_reads_addresses_of_the_machine(address, expected):
    assert is_on_an_interface(address) is expected
