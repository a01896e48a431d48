from __future__ import annotations

import base64

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tests.unit.apiserver.writing import Server

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.admission.certificates import (
    CLIENT_SIGNER,
    CertificateApproval,
    CertificateSigning,
    CertificateSubjectRestriction,
    ClusterTrustBundleAttest,
    common_name,
    may_use_signer,
    organizations,
)
from steersman.apiserver.admission.interface import Attributes, Operation
from steersman.apiserver.authz.interface import ALLOW, NO_OPINION
from steersman.apiserver.request import UserInfo

REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
APPROVED = {"status": {"conditions": [{"type": "Approved", "status": "True"}]}}
FAILED = {"status": {"conditions": [{"type": "Failed", "status": "True"}]}}


class Rights:
    """Allows what is listed: verb and signer."""

    def __init__(self, *allowed: tuple[str, str]) -> None:
        self.allowed = allowed

    def authorize(self, user, info):
        assert (user.name, info.group, info.resource, info.is_resource) == (
            "tester",
            "certificates.k8s.io",
            "signers",
            True,
        )
        return ALLOW if (info.verb, info.name) in self.allowed else NO_OPINION


def pem(*groups: str) -> str:
    names = [x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, group) for group in groups]
    key = ec.generate_private_key(ec.SECP256R1())
    request = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(names)).sign(key, hashes.SHA256())
    return base64.b64encode(request.public_bytes(serialization.Encoding.PEM)).decode()


def spec(*groups: str, signer: str = "example.com/s") -> dict[str, object]:
    return {"signerName": signer, "usages": ["client auth"], "request": pem(*groups)}


@pytest.mark.parametrize(
    ("right", "allowed"),
    [
        (("approve", "example.com/s"), True),
        (("approve", "example.com/*"), True),
        (("sign", "example.com/s"), False),
        (("approve", "example.com/t"), False),
    ],
)
async def test_permission_covers_a_signer_or_its_domain(right, allowed):
    assert await may_use_signer(Rights(right), UserInfo("tester"), "approve", "example.com/s") is allowed


async def test_approval_requires_a_permission_on_the_signer():
    async with Server(CertificateApproval(Rights())) as server:
        await server.make(REQUESTS, spec=spec())
        answer = await server.merge(f"{REQUESTS}/a/approval", APPROVED)
        message = 'user not permitted to approve requests with signerName "example.com/s"'
        assert (answer.code, answer.body["message"].partition("forbidden: ")[2]) == (403, message)
    async with Server(CertificateApproval(Rights(("approve", "example.com/s")))) as server:
        await server.make(REQUESTS, spec=spec())
        assert (await server.merge(f"{REQUESTS}/a/approval", APPROVED)).code == 200


async def test_signing_requires_a_permission_on_the_signer():
    async with Server(CertificateSigning(Rights())) as server:
        await server.make(REQUESTS, spec=spec())
        answer = await server.merge(f"{REQUESTS}/a/status", FAILED)
        message = 'user not permitted to sign requests with signerName "example.com/s"'
        assert (answer.code, answer.body["message"].partition("forbidden: ")[2]) == (403, message)
    async with Server(CertificateSigning(Rights(("sign", "example.com/*")))) as server:
        await server.make(REQUESTS, spec=spec())
        assert (await server.merge(f"{REQUESTS}/a/status", FAILED)).code == 200


async def test_status_without_certificate_requires_no_permission():
    async with Server(CertificateSigning(Rights())) as server:
        await server.make(REQUESTS, spec=spec())
        assert (await server.merge(f"{REQUESTS}/a/status", {"metadata": {"labels": {"a": "b"}}})).code == 200


@pytest.mark.parametrize(
    ("groups", "signer", "code"),
    [
        (["system:masters"], CLIENT_SIGNER, 403),
        (["devs", "system:masters"], CLIENT_SIGNER, 403),
        (["devs"], CLIENT_SIGNER, 201),
        (["system:masters"], "example.com/s", 201),
    ],
)
async def test_client_certificate_for_system_masters_is_rejected(groups, signer, code):
    async with Server(CertificateSubjectRestriction()) as server:
        answer = await server.call("POST", REQUESTS, {"metadata": {"name": "a"}, "spec": spec(*groups, signer=signer)})
        assert answer.code == code


def test_organizations_rejects_malformed_request():
    assert organizations(pem("a", "b")) == ["a", "b"]
    assert common_name(pem("a")) == ""
    with pytest.raises(ValueError, match="PEM"):
        organizations("eA==")


def bundle(signer="example.com/s", **metadata):
    return {"metadata": {"name": "b", **metadata}, "spec": {"signerName": signer, "trustBundle": "pem"}}


@pytest.mark.parametrize(
    ("old", "new", "right", "allowed"),
    [
        (None, bundle(), ("attest", "example.com/s"), True),
        (None, bundle(), ("attest", "example.com/*"), True),
        (None, bundle(), ("sign", "example.com/s"), False),
        (None, bundle(""), ("", ""), True),
        (bundle(), bundle(labels={"a": "b"}), ("", ""), False),
        (bundle(), bundle(finalizers=["x/y"], ownerReferences=[], managedFields=[]), ("", ""), True),
    ],
)
async def test_trust_bundle_of_a_signer_requires_a_permission_on_it(old, new, right, allowed):
    async with Server() as server:
        attributes = Attributes(
            Operation.UPDATE,
            server.registry.get("", "v1", "configmaps"),
            server.context("clustertrustbundles"),
            name="b",
            obj=new,
            old_object=old,
        )
        validated = ClusterTrustBundleAttest(Rights(right)).validate(attributes)
        if allowed:
            await validated
        else:
            message = r'user not permitted to attest for signerName "example.com/s"'
            with pytest.raises(StatusError, match=message) as rejected:
                await validated
            assert rejected.value.code == 403
