"""Ranges of addresses and ports, and the port bitmap."""

from __future__ import annotations

import json
import random
from base64 import b64encode
from ipaddress import ip_address, ip_network
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apiserver.kinds.shared.allocation import AddressRange, PortBitmap, PortRange, family_of, lower_band_size
from steersman.schema.protobuf import MEDIA_TYPE, enclosed

PORTS = PortRange(30000, 32767)
port_ranges = st.builds(
    lambda first, size: PortRange(first, min(first + size, 65535)), st.integers(1, 65535), st.integers(0, 3000)
)


def dice(seed: int = 1) -> random.Random:
    return random.Random(seed)


@pytest.mark.parametrize(
    ("size", "expected"), [(1, 0), (16, 0), (32, 16), (256, 16), (1024, 64), (4096, 256), (1 << 64, 256)]
)
def test_lower_band_size_is_a_sixteenth_within_bounds(size: int, expected: int):
    assert lower_band_size(size, least=16, most=256, step=16) == expected


def test_family_of_returns_api_names():
    assert (family_of(ip_address("10.0.0.1")), family_of(ip_network("fd00::/64"))) == ("IPv4", "IPv6")


@pytest.mark.parametrize("length", range(20, 31))
def test_ipv4_candidates_are_all_usable_addresses_once(length: int):
    network = ip_network(f"10.96.0.0/{length}")
    given_out = list(AddressRange(network).candidates(dice()))
    assert sorted(given_out) == list(network.hosts())


@pytest.mark.parametrize("length", range(116, 128))
def test_ipv6_candidates_are_all_usable_addresses_once(length: int):
    network = ip_network(f"fd00::/{length}")
    assert sorted(AddressRange(network).candidates(dice())) == list(network)[1:]


@pytest.mark.parametrize("length", range(8, 31))
def test_first_is_the_first_usable_address(length: int):
    addresses = AddressRange(ip_network(f"10.0.0.0/{length}"))
    assert addresses.first == ip_address("10.0.0.1")
    assert addresses.first in addresses


@pytest.mark.parametrize("length", range(64, 128))
def test_ipv6_candidates_are_in_range(length: int):
    addresses = AddressRange(ip_network(f"fd00::/{length}"))
    assert all(ip in addresses for ip in islice(addresses.candidates(dice()), 50))


@pytest.mark.parametrize("text", ["10.0.0.0/31", "10.0.0.1/32", "fd00::/128", "fd00::/63", "fd00::/48"])
def test_address_range_raises_without_usable_address_or_for_large_ipv6(text: str):
    with pytest.raises(ValueError, match=r"address|prefix"):
        AddressRange(ip_network(text))


@pytest.mark.parametrize("text", ["10.0.0.0", "10.0.0.255", "10.0.1.1", "fd00::1"])
def test_address_range_contains_usable_addresses_only(text: str):
    assert ip_address(text) not in AddressRange(ip_network("10.0.0.0/24"))


@given(st.integers(0, 1 << 32))
def test_candidates_start_above_the_lower_band(seed: int):
    first = next(AddressRange(ip_network("10.0.0.0/24")).candidates(dice(seed)))
    assert first > ip_address("10.0.0.16")


@given(port_ranges, st.integers(0, 1 << 32))
def test_port_candidates_are_all_ports_once(ports: PortRange, seed: int):
    assert sorted(ports.candidates(dice(seed))) == list(range(ports.first, ports.last + 1))


def test_port_candidates_start_above_the_lower_band():
    assert next(PORTS.candidates(dice())) >= 30000 + 86


def test_port_range_formats_with_dash():
    assert str(PORTS) == "30000-32767"


# -- the bitmap -------------------------------------------------------------------------------------------------------


def test_encode_stores_range_allocation():
    bitmap = PortBitmap(PORTS)
    bitmap.allocate(30000)
    bitmap.allocate(30009)
    assert json.loads(bitmap.encode()) == {
        "kind": "RangeAllocation",
        "apiVersion": "v1",
        "metadata": {"creationTimestamp": None},
        "range": "30000-32767",
        "data": b64encode(bytes([0b10, 0b1])).decode(),
    }


@given(port_ranges, st.data(), st.sampled_from(["application/json", MEDIA_TYPE]))
def test_decode_restores_encoded_ports(ports: PortRange, data: st.DataObject, media_type: str):
    taken = data.draw(st.sets(st.integers(ports.first, ports.last), max_size=20))
    bitmap = PortBitmap(ports)
    for port in taken:
        bitmap.allocate(port)
    read = PortBitmap.decode(ports, bitmap.encode(media_type))
    assert {port for port in range(ports.first, ports.last + 1) if port in read} == taken
    assert list(read) == sorted(taken)


@pytest.mark.parametrize("value", [b"", b"[]", b"k8s\x00", b"k8s:enc:", b'{"data":"*"}', enclosed("v1", "Pod", b"")])
def test_bitmap_rejects_values_that_are_no_range_allocation(value):
    with pytest.raises(ValueError):
        PortBitmap.decode(PORTS, value)


@given(port_ranges, port_ranges, st.data())
def test_decode_remaps_ports_when_range_has_moved(before: PortRange, after: PortRange, data: st.DataObject):
    taken = data.draw(st.sets(st.integers(before.first, before.last), max_size=20))
    bitmap = PortBitmap(before)
    for port in taken:
        bitmap.allocate(port)
    moved = PortBitmap.decode(after, bitmap.encode())
    assert {port for port in range(1, 65536) if port in moved} == {port for port in taken if port in after}


@given(st.sets(st.integers(30000, 30063)), st.integers(0, 1 << 32))
def test_take_any_returns_free_ports_until_full(taken: set[int], seed: int):
    ports = PortRange(30000, 30063)
    bitmap = PortBitmap(ports)
    for port in taken:
        bitmap.allocate(port)
    chosen = [bitmap.allocate_next(dice(seed)) for _ in range(64 - len(taken))]
    assert sorted([*taken, *chosen]) == list(range(30000, 30064))
    assert bitmap.allocate_next(dice(seed)) is None


@given(st.lists(st.integers(30000, 30031), unique=True))
def test_take_and_release_restore_bitmap(ports: list[int]):
    bitmap = PortBitmap(PORTS)
    for port in ports:
        bitmap.allocate(port)
    for port in ports:
        bitmap.release(port)
    assert not bitmap.changed


def test_release_ignores_ports_outside_of_range():
    bitmap = PortBitmap(PORTS, 1)
    bitmap.release(80)
    assert (bitmap.changed, 30000 in bitmap) == (False, True)


def test_decode_of_nothing_is_empty():
    assert not any(port in PortBitmap.decode(PORTS, None) for port in range(30000, 32768))
