from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import edited, named, texts

from steersman.apiserver.kinds.networking.ingress.validation import (
    validate_ingress,
    validate_ingress_status,
    validate_ingress_update,
)

BACKEND = {"service": {"name": "s", "port": {"number": 80}}}
RULE = {"host": "a.com", "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": BACKEND}]}}
VALID = named(spec={"rules": [RULE], "ingressClassName": "nginx"})
PATH = "spec.rules[0].http.paths[0]"
AT = "spec.rules.0.http.paths.0"
TYPES = '"Exact", "ImplementationSpecific", "Prefix"'


@pytest.mark.parametrize(
    "edits",
    [
        {},
        {"spec.rules.0.host": "*.a.com"},
        {"spec.rules": [], "spec.defaultBackend": BACKEND},
        {f"{AT}.backend": {"resource": {"apiGroup": "example.com", "kind": "Bucket", "name": "b"}}},
        {f"{AT}.backend.service.port": {"name": "http"}},
        {AT: {"pathType": "ImplementationSpecific", "backend": BACKEND}},
    ],
)
def test_validate_ingress_accepts_valid_ingresses(edits):
    assert texts(validate_ingress(edited(VALID, edits))) == []


@pytest.mark.parametrize(
    ("edits", "fault"),
    [
        ({"spec.rules": []}, "spec: Invalid value: []: either `defaultBackend` or `rules` must be specified"),
        ({f"{AT}.pathType": None}, f"{PATH}.pathType: Required value: pathType must be specified"),
        ({f"{AT}.pathType": "Regex"}, f'{PATH}.pathType: Unsupported value: "Regex": supported values: {TYPES}'),
        ({f"{AT}.path": "a"}, f'{PATH}.path: Invalid value: "a": must be an absolute path'),
        ({f"{AT}.path": ""}, f'{PATH}.path: Invalid value: "": must be an absolute path'),
        ({f"{AT}.path": "/a//b"}, f"{PATH}.path: Invalid value: \"/a//b\": must not contain '//'"),
        ({f"{AT}.path": "/a/%2f"}, f"{PATH}.path: Invalid value: \"/a/%2f\": must not contain '%2f'"),
        ({f"{AT}.path": "/a/.."}, f"{PATH}.path: Invalid value: \"/a/..\": cannot end with '/..'"),
        (
            {AT: {"pathType": "ImplementationSpecific", "path": "a", "backend": BACKEND}},
            f'{PATH}.path: Invalid value: "a": must be an absolute path',
        ),
        ({f"{AT}.backend": {}}, f'{PATH}.backend: Invalid value: "": resource or service backend is required'),
        (
            {f"{AT}.backend.resource": {"kind": "a", "name": "b"}},
            f'{PATH}.backend: Invalid value: "": cannot set both resource and service backends',
        ),
        ({f"{AT}.backend.service.name": ""}, f"{PATH}.backend.service.name: Required value"),
        ({f"{AT}.backend.service.port": {}}, f"{PATH}.backend: Required value: port name or number is required"),
        (
            {f"{AT}.backend.service.port": {"name": "a", "number": 1}},
            f'{PATH}.backend: Invalid value: "": cannot set both port name & port number',
        ),
        (
            {f"{AT}.backend.service.port.number": 70000},
            f"{PATH}.backend.service.port.number: Invalid value: 70000: must be between 1 and 65535, inclusive",
        ),
        ({"spec.rules.0.http.paths": []}, "spec.rules[0].http.paths: Required value"),
        (
            {"spec.rules.0.host": "10.0.0.1"},
            'spec.rules[0].host: Invalid value: "10.0.0.1": must be a DNS name, not an IP address',
        ),
        (
            {"metadata.annotations": {"kubernetes.io/ingress.class": "other"}},
            (
                'annotations.kubernetes.io/ingress.class: Invalid value: "other": '
                "must match `ingressClassName` when both are specified"
            ),
        ),
    ],
)
def test_validate_ingress_rejects_invalid_fields(edits, fault):
    assert texts(validate_ingress(edited(VALID, edits))) == [fault]


@pytest.mark.parametrize(
    ("edits", "path"),
    [
        ({"spec.rules.0.host": "a_b"}, "spec.rules[0].host"),
        ({"spec.rules.0.host": "a.*.com"}, "spec.rules[0].host"),
        ({"spec.tls": [{"hosts": ["a_b"]}]}, "spec.tls[0].hosts[0]"),
        ({"spec.tls": [{"secretName": "a_b"}]}, "spec.tls[0].secretName"),
        ({"spec.ingressClassName": "A"}, "spec.ingressClassName"),
        ({f"{AT}.backend.service.name": "a.b"}, f"{PATH}.backend.service.name"),
    ],
)
def test_validate_ingress_rejects_invalid_dns_names(edits, path):
    [fault] = texts(validate_ingress(edited(VALID, edits)))
    assert fault.startswith(f"{path}: Invalid value: ")


def test_validate_ingress_update_accepts_added_class_annotation():
    new = edited(VALID, {"metadata.annotations": {"kubernetes.io/ingress.class": "other"}})
    assert texts(validate_ingress_update(new, VALID)) == []


@pytest.mark.parametrize(("old_secret", "count"), [("fine", 1), ("not_fine", 0)])
def test_validate_ingress_update_accepts_unchanged_invalid_secret_names(old_secret, count):
    old = edited(VALID, {"spec.tls": [{"secretName": old_secret}]})
    new = edited(VALID, {"spec.tls": [{"secretName": "a_b"}]})
    assert len(texts(validate_ingress_update(new, old))) == count


def with_points(*points: dict) -> dict:
    return edited(VALID, {"status.loadBalancer.ingress": list(points)})


@pytest.mark.parametrize(
    ("point", "fault"),
    [
        (
            {"ip": "nowhere"},
            (
                'status.loadBalancer.ingress[0].ip: Invalid value: "nowhere": '
                "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
            ),
        ),
        (
            {"hostname": "10.0.0.1"},
            'status.loadBalancer.ingress[0].hostname: Invalid value: "10.0.0.1": must be a DNS name, not an IP address',
        ),
    ],
)
def test_validate_ingress_status_rejects_invalid_ingress_points(point, fault):
    assert texts(validate_ingress_status(with_points(point), VALID)) == [fault]


def test_validate_ingress_status_accepts_leading_zeros_of_old_status_only():
    odd = with_points({"ip": "010.0.0.1"})
    assert texts(validate_ingress_status(odd, odd)) == []
    assert texts(validate_ingress_status(odd, VALID)) == [
        'status.loadBalancer.ingress[0].ip: Invalid value: "010.0.0.1": must not have leading 0s'
    ]
