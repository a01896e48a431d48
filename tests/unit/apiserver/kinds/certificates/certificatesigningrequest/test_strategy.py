from __future__ import annotations

import base64

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tests.unit.apiserver.kinds.samples import CONTEXT, NOW, edited, named
from tests.unit.apiserver.writing import Server, causes

from steersman.apiserver.kinds.certificates.certificatesigningrequest.strategy import CertificateSigningRequestStrategy
from steersman.apiserver.request import RequestContext, UserInfo

REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
STATUS, APPROVAL = f"{REQUESTS}/a/status", f"{REQUESTS}/a/approval"


def pem() -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    request = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([])).sign(key, hashes.SHA256())
    return request.public_bytes(serialization.Encoding.PEM)


def spec(request: bytes | None = None) -> dict[str, object]:
    encoded = base64.b64encode(request or pem()).decode()
    return {"signerName": "example.com/s", "usages": ["client auth"], "request": encoded}


def condition(type_: str = "Approved", status: str = "True", **parts: str) -> dict[str, str]:
    return {"type": type_, "status": status, **parts}


def conditions(*items: dict[str, str]) -> dict[str, object]:
    return {"status": {"conditions": list(items)}}


def types(body: dict[str, object]) -> list[tuple[str, str]]:
    return [(c["type"], c.get("message", "")) for c in body["status"].get("conditions", [])]


async def test_approval_conditions_change_through_approval_only():
    async with Server() as server:
        await server.make(REQUESTS, spec=spec())
        assert causes(await server.merge(STATUS, conditions(condition()))) == [
            ("FieldValueForbidden", "status.conditions")
        ]
        answer = await server.merge(APPROVAL, conditions(condition(message="m")))
        assert types(answer.body) == [("Approved", "m")]


async def test_prepare_for_status_update_keeps_approval_conditions():
    async with Server() as server:
        await server.make(REQUESTS, spec=spec())
        await server.merge(APPROVAL, conditions(condition(message="m")))
        answer = await server.merge(STATUS, conditions(condition(message="n"), condition("Seen", "False")))
        assert (answer.code, types(answer.body)) == (200, [("Approved", "m"), ("Seen", "")])
        answer = await server.merge(STATUS, conditions(condition("Seen", "False")))
        assert causes(answer) == [("FieldValueForbidden", "status.conditions")]


async def test_prepare_for_approval_accepts_changed_message():
    async with Server() as server:
        await server.make(REQUESTS, spec=spec())
        await server.merge(APPROVAL, conditions(condition(message="m")))
        assert types((await server.merge(APPROVAL, conditions(condition(message="n")))).body) == [("Approved", "n")]


@pytest.mark.parametrize(
    ("type_", "existing"), [("Approved", '"True"'), ("Failed", '"True"'), ("Seen", '"False", "True", "Unknown"')]
)
async def test_validate_approval_requires_condition_status_true(type_, existing):
    async with Server() as server:
        await server.make(REQUESTS, spec=spec())
        answer = await server.merge(APPROVAL, conditions(condition(type_, "Maybe")))
        assert (
            answer.body["details"]["causes"][0]["message"]
            == f'Unsupported value: "Maybe": supported values: {existing}'
        )


async def test_validate_rejects_request_with_invalid_signature():
    other = x509.load_pem_x509_csr(pem()).public_bytes(serialization.Encoding.DER)
    der = x509.load_pem_x509_csr(pem()).public_bytes(serialization.Encoding.DER)
    at = der.index(b"\x03\x42\x00\x04")  # the public key, an uncompressed point
    forged = der[: at + 4] + other[other.index(b"\x03\x42\x00\x04") + 4 :][:64] + der[at + 68 :]
    body = base64.encodebytes(forged)
    request = b"-----BEGIN CERTIFICATE REQUEST-----\n" + body + b"-----END CERTIFICATE REQUEST-----\n"
    async with Server() as server:
        answer = await server.call("POST", REQUESTS, {"metadata": {"name": "a"}, "spec": spec(request)})
        assert causes(answer) == [("FieldValueInvalid", "spec.request")]


@pytest.mark.parametrize("subresource", ["status", "approval"])
async def test_subresource_update_repeats_metadata_errors_as_upstream(subresource):
    async with Server() as server:
        await server.make(REQUESTS, spec=spec())
        answer = await server.merge(f"{REQUESTS}/a/{subresource}", {"metadata": {"labels": {"a": "?"}}})
        assert causes(answer) == [("FieldValueInvalid", "metadata.labels")] * 4


async def test_managed_fields_are_not_kept():
    async with Server() as server:
        assert "managedFields" not in (await server.make(REQUESTS, spec=spec()))["metadata"]


STRATEGY = CertificateSigningRequestStrategy()


@pytest.mark.parametrize(
    ("user", "shown"),
    [
        (UserInfo("alice"), {"username": "alice"}),
        (
            UserInfo("alice", ("g",), "1", {"k": ("v",)}),
            {"username": "alice", "uid": "1", "groups": ["g"], "extra": {"k": ["v"]}},
        ),
    ],
)
def test_prepare_for_create_sets_requesting_user(user, shown):
    new = named(spec={"username": "mallory", "uid": "0", "groups": ["system:masters"], "extra": {"a": ["b"]}})
    STRATEGY.prepare_for_create(RequestContext(user, NOW), new)
    assert new["spec"] == shown


def test_prepare_for_update_keeps_spec_and_status():
    old = named(spec={"username": "alice"}, status={"certificate": "c"})
    new = edited(old, {"spec.username": "mallory", "status.certificate": "d", "metadata.labels": {"a": "b"}})
    STRATEGY.prepare_for_update(CONTEXT, new, old)
    assert new == edited(old, {"metadata.labels": {"a": "b"}})


@pytest.mark.parametrize(("signer", "text"), [({"signerName": "a.b/c"}, "a.b/c"), ({}, "")])
def test_field_labels_select_by_signer(signer, text):
    assert STRATEGY.field_labels["spec.signerName"](named(spec=signer)) == text


@pytest.mark.parametrize(
    ("edits", "cells"),
    [
        ({}, ["a", "60s", "a.b/c", "alice", "<none>", "Pending"]),
        (
            {"spec.expirationSeconds": 3600, "status.conditions": [condition()], "status.certificate": "c"},
            ["a", "60s", "a.b/c", "alice", "60m", "Approved,Issued"],
        ),
        (
            {"status.conditions": [condition("Denied"), condition("Failed")]},
            ["a", "60s", "a.b/c", "alice", "<none>", "Denied,Failed"],
        ),
    ],
)
def test_cells_show_condition(edits, cells):
    requested = named(spec={"signerName": "a.b/c", "username": "alice"})
    assert STRATEGY.cells(edited(requested, edits), NOW) == cells
