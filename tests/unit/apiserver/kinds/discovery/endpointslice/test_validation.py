from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import edited, named, texts

from steersman.apiserver.kinds.discovery.endpointslice.validation import (
    endpoint_slice_warnings,
    validate_endpoint_slice,
    validate_endpoint_slice_update,
)

VALID = named(
    addressType="IPv4",
    endpoints=[{"addresses": ["10.0.0.1"], "nodeName": "n", "hostname": "h", "hints": {"forZones": [{"name": "z"}]}}],
    ports=[{"name": "http", "protocol": "TCP", "port": 80}],
)
AT, PATH = "endpoints.0", "endpoints[0]"
FQDN = {"addressType": "FQDN", f"{AT}.addresses": ["a.example.com."]}


@pytest.mark.parametrize("edits", [{}, FQDN, {"addressType": "IPv6", f"{AT}.addresses": ["fd00::1"]}, {"ports": []}])
def test_validate_endpoint_slice_accepts_valid_slices(edits):
    assert texts(validate_endpoint_slice(edited(VALID, edits))) == []


@pytest.mark.parametrize(
    ("edits", "fault"),
    [
        (
            {"addressType": "IPX"},
            'addressType: Unsupported value: "IPX": supported values: "FQDN", "IPv4", "IPv6"',
        ),
        ({"addressType": ""}, "addressType: Required value"),
        ({f"{AT}.addresses": []}, f"{PATH}.addresses: Required value: must contain at least 1 address"),
        (
            {f"{AT}.addresses": [f"10.0.0.{n}" for n in range(101)]},
            f"{PATH}.addresses: Too many: 101: must have at most 100 items",
        ),
        (
            {f"{AT}.addresses": ["fd00::1"]},
            f'{PATH}.addresses: Invalid value: "fd00::1": must be an IPv4 address',
        ),
        (
            {f"{AT}.addresses": ["127.0.0.1"]},
            f'{PATH}.addresses[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
        ),
        (
            FQDN | {f"{AT}.addresses": ["local"]},
            f'{PATH}.addresses[0]: Invalid value: "local": should be a domain with at least two segments separated by dots',
        ),
        (
            {f"{AT}.hints.forZones": [{"name": "z"}, {"name": "z"}]},
            f'{PATH}.hints.forZones[1].name: Duplicate value: "z"',
        ),
        (
            {f"{AT}.hints.forZones": [{"name": f"z{n}"} for n in range(9)]},
            f"{PATH}.hints.forZones: Too many: 9: must have at most 8 items",
        ),
        (
            {f"{AT}.deprecatedTopology": {f"k{n}": "v" for n in range(17)}},
            f"{PATH}.deprecatedTopology: Too many: 17: must have at most 16 items",
        ),
        (
            {"endpoints": [{"addresses": ["10.0.0.1"]}] * 1001},
            "endpoints: Too many: 1001: must have at most 1000 items",
        ),
        ({"ports": [VALID["ports"][0]] * 2}, 'ports[1].name: Duplicate value: "http"'),
        (
            {"ports.0.protocol": "ICMP"},
            'ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"',
        ),
        (
            {"ports.0.protocol": ""},
            'ports[0].protocol: Unsupported value: "": supported values: "SCTP", "TCP", "UDP"',
        ),
        ({"ports.0.protocol": None}, "ports[0].protocol: Required value"),
    ],
)
def test_validate_endpoint_slice_rejects_invalid_fields(edits, fault):
    assert fault in texts(validate_endpoint_slice(edited(VALID, edits)))


@pytest.mark.parametrize(
    ("edits", "path"),
    [
        ({f"{AT}.nodeName": "A"}, f"{PATH}.nodeName"),
        ({f"{AT}.hostname": "a.b"}, f"{PATH}.hostname"),
        ({"ports.0.name": "A"}, "ports[0].name"),
        ({"ports.0.appProtocol": "a b"}, "ports[0].appProtocol"),
        ({f"{AT}.hints.forZones.0.name": "a b"}, f"{PATH}.hints.forZones[0].name"),
    ],
)
def test_validate_endpoint_slice_rejects_invalid_dns_names(edits, path):
    [fault] = texts(validate_endpoint_slice(edited(VALID, edits)))
    assert fault.startswith(f"{path}: Invalid value: ")


def test_validate_endpoint_slice_update_rejects_change_of_address_type():
    new = edited(VALID, {"addressType": "IPv6", f"{AT}.addresses": ["fd00::1"]})
    assert texts(validate_endpoint_slice_update(new, VALID)) == [
        'addressType: Invalid value: "IPv6": field is immutable'
    ]


def test_validate_endpoint_slice_accepts_leading_zeros_of_old_slice_only():
    odd = edited(VALID, {f"{AT}.addresses": ["010.0.0.1"]})
    assert texts(validate_endpoint_slice_update(odd, odd)) == []
    assert texts(validate_endpoint_slice_update(odd, VALID)) == [
        f'{PATH}.addresses[0]: Invalid value: "010.0.0.1": must not have leading 0s'
    ]


@pytest.mark.parametrize(
    ("edits", "warnings"),
    [
        ({}, []),
        (FQDN, ["spec.addressType: FQDN endpoints are deprecated"]),
        (
            {"addressType": "IPv6", f"{AT}.addresses": ["FD00::1"]},
            ['endpoints[0].addresses[0]: IPv6 address "FD00::1" should be in RFC 5952 canonical format ("fd00::1")'],
        ),
    ],
)
def test_endpoint_slice_warnings_about_deprecated_fields(edits, warnings):
    assert list(endpoint_slice_warnings(edited(VALID, edits), None)) == warnings


def test_endpoint_slice_warnings_skip_fqdn_type_on_update():
    named_hosts = edited(VALID, FQDN)
    assert list(endpoint_slice_warnings(named_hosts, named_hosts)) == []


@pytest.mark.parametrize("manager", ["endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io"])
def test_endpoint_slice_warnings_skip_slices_of_kubernetes_controllers(manager):
    labels = {"endpointslice.kubernetes.io/managed-by": manager}
    odd = edited(VALID, {"addressType": "IPv6", f"{AT}.addresses": ["FD00::1"], "metadata.labels": labels})
    assert list(endpoint_slice_warnings(odd, None)) == []


def test_validate_endpoint_slice_validates_each_duplicate_hint():
    faults = texts(validate_endpoint_slice(edited(VALID, {f"{AT}.hints.forZones": [{"name": "a b"}] * 2})))
    assert [fault.partition(":")[0] for fault in faults] == [
        f"{PATH}.hints.forZones[{position}].name" for position in (0, 1, 1)
    ]
