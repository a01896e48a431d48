from __future__ import annotations

import base64
from datetime import timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.serialization import Encoding
from tests.unit.apiserver.kinds.samples import CREATED, NOW, edited, named, texts

from steersman.apiserver.kinds.certificates.certificatesigningrequest.validation import (
    validate_request,
    validate_request_update,
)

KEY = ed25519.Ed25519PrivateKey.from_private_bytes(bytes(32))
NAME = x509.Name([])


def encoded(pem: bytes) -> str:
    return base64.b64encode(pem).decode()


REQUEST = x509.CertificateSigningRequestBuilder().subject_name(NAME).sign(KEY, None).public_bytes(Encoding.PEM)
CERTIFICATE = (
    x509.CertificateBuilder(NAME, NAME, KEY.public_key(), 1, NOW, NOW + timedelta(days=1))
    .sign(KEY, None)
    .public_bytes(Encoding.PEM)
)
VALID = named(
    spec={
        "request": encoded(REQUEST),
        "signerName": "example.com/signer",
        "usages": ["client auth", "digital signature"],
    }
)
FORM = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
SIGNER, USAGES, CONDITIONS = "spec.signerName", "spec.usages", "status.conditions"


def condition(type_: str, status: str = "True", **parts: str) -> dict:
    return {"type": type_, "status": status, "lastUpdateTime": CREATED, **parts}


@pytest.mark.parametrize(
    "edits",
    [
        {},
        {"spec.expirationSeconds": 600},
        {CONDITIONS: [condition("Approved"), condition("Seen", "Unknown")]},
        {"status.certificate": encoded(CERTIFICATE)},
        {SIGNER: "kubernetes.io/kube-apiserver-client"},
    ],
)
def test_validate_request_accepts_valid_requests(edits):
    assert texts(validate_request(edited(VALID, edits))) == []


@pytest.mark.parametrize(
    ("edits", "fault"),
    [
        (
            {"spec.request": encoded(CERTIFICATE)},
            f'spec.request: Invalid value: "{encoded(CERTIFICATE)}": PEM block type must be CERTIFICATE REQUEST',
        ),
        ({USAGES: []}, f"{USAGES}: Required value"),
        ({USAGES: ["any", "any"]}, f'{USAGES}[1]: Duplicate value: "any"'),
        (
            {"spec.expirationSeconds": 599},
            "spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 seconds (10 minutes)",
        ),
        ({SIGNER: ""}, f"{SIGNER}: Required value"),
        ({SIGNER: "signer"}, f'{SIGNER}: Invalid value: "signer": {FORM}'),
        ({SIGNER: "a.b/c/d"}, f'{SIGNER}: Invalid value: "a.b/c/d": {FORM}'),
        (
            {SIGNER: "local/signer"},
            f'{SIGNER}: Invalid value: "local": should be a domain with at least two segments separated by dots',
        ),
        (
            {SIGNER: f"example.com/{'.'.join(['a' * 50] * 12)}"},
            f"{SIGNER}: Too long: may not be more than 571 bytes",
        ),
        (
            {SIGNER: "kubernetes.io/legacy-unknown"},
            (
                f'{SIGNER}: Invalid value: "kubernetes.io/legacy-unknown": '
                "the legacy signerName is not allowed via this API version"
            ),
        ),
        ({CONDITIONS: [condition("")]}, f"{CONDITIONS}[0].type: Required value"),
        ({CONDITIONS: [condition("Seen", "")]}, f"{CONDITIONS}[0].status: Required value"),
        ({CONDITIONS: [condition("Seen")] * 2}, f'{CONDITIONS}[1].type: Duplicate value: "Seen"'),
        (
            {CONDITIONS: [condition("Approved"), condition("Denied")]},
            f'{CONDITIONS}: Invalid value: "Denied": Approved and Denied conditions are mutually exclusive',
        ),
        (
            {CONDITIONS: [condition("Denied", "False")]},
            f'{CONDITIONS}[0].status: Unsupported value: "False": supported values: "True"',
        ),
        (
            {"status.certificate": encoded(REQUEST)},
            (
                'status.certificate: Invalid value: "<certificate data>": '
                'only CERTIFICATE PEM blocks are allowed, found "CERTIFICATE REQUEST"'
            ),
        ),
        (
            {"status.certificate": encoded(b"nothing")},
            'status.certificate: Invalid value: "<certificate data>": must contain at least one CERTIFICATE PEM block',
        ),
    ],
)
def test_validate_request_rejects_invalid_fields(edits, fault):
    assert texts(validate_request(edited(VALID, edits))) == [fault]


def test_validate_request_reports_first_invalid_part_of_signer_name_only():
    faults = texts(validate_request(edited(VALID, {SIGNER: "A.B/C.D"})))
    assert [fault.partition(": a lowercase")[0] for fault in faults] == [
        f'{SIGNER}: Invalid value: "A.B": validating label "A"',
        f'{SIGNER}: Invalid value: "C.D": validating label "C"',
    ]


def test_validate_request_rejects_unknown_usages():
    [fault] = texts(validate_request(edited(VALID, {USAGES: ["tea making"]})))
    assert fault.startswith(f'{USAGES}[0]: Unsupported value: "tea making": supported values: "any", "cert sign", ')


APPROVED = edited(VALID, {CONDITIONS: [condition("Approved")]})
ISSUED = edited(APPROVED, {"status.certificate": encoded(CERTIFICATE)})


@pytest.mark.parametrize(
    ("new", "old", "may", "faults"),
    [
        (APPROVED, VALID, {"may_approve": True}, []),
        (APPROVED, VALID, {}, [f'{CONDITIONS}: Forbidden: updates may not add a condition of type "Approved"']),
        (
            VALID,
            APPROVED,
            {"may_approve": True},
            [f'{CONDITIONS}: Forbidden: updates may not remove a condition of type "Approved"'],
        ),
        (
            edited(VALID, {CONDITIONS: [condition("Approved", message="m")]}),
            APPROVED,
            {},
            [f'{CONDITIONS}: Forbidden: updates may not modify a condition of type "Approved"'],
        ),
        (edited(VALID, {CONDITIONS: [condition("Failed")]}), VALID, {}, []),
        (ISSUED, APPROVED, {"may_certify": True}, []),
        (ISSUED, APPROVED, {}, ["status.certificate: Forbidden: updates may not set certificate content"]),
        (
            edited(ISSUED, {"status.certificate": encoded(CERTIFICATE * 2)}),
            ISSUED,
            {"may_certify": True},
            ["status.certificate: Forbidden: updates may not modify existing certificate content"],
        ),
    ],
)
def test_validate_request_update_restricts_changes_by_subresource(new, old, may, faults):
    assert texts(validate_request_update(new, old, **may)) == faults


@pytest.mark.parametrize(
    "edits",
    [
        {USAGES: ["tea making"]},
        {USAGES: ["any", "any"]},
        {"spec.request": encoded(b"nothing")},
        {SIGNER: "kubernetes.io/legacy-unknown"},
        {"status.certificate": encoded(b"nothing")},
    ],
)
def test_validate_request_accepts_legacy_values_of_old_request(edits):
    old = edited(VALID, edits)
    assert texts(validate_request_update(old, old)) == []
