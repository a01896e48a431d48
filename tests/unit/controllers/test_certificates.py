import base64
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

import msgspec
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from lightkube.models.certificates_v1 import CertificateSigningRequest
from lightkube.models.certificates_v1beta1 import PodCertificateRequest

from steersman.asynckit.certificates import make_ca
from steersman.client import PatchType, tree
from steersman.controllers.certificates import approving, cleaner, pod_request_cleaner, signing
from steersman.controllers.certificates.issuing import Authority, Request, certificate_end
from steersman.controllers.certificates.plan import (
    API_CLIENT,
    KUBELET_CLIENT,
    KUBELET_SERVING,
    LEGACY_UNKNOWN,
    RequestAttributes,
    is_to_be_signed,
    is_undecided,
    recognized,
    seconds_to_cleanup,
    seconds_to_pod_request_cleanup,
    signer_fault,
    validity,
    with_condition,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
YEAR = timedelta(days=365)
NODE = RequestAttributes("system:node:n", ("system:nodes",))
SERVING = RequestAttributes("system:node:n", ("system:nodes",), dns_names=("n",))
CLIENT = ["digital signature", "key encipherment", "client auth"]
SERVER = ["digital signature", "server auth"]
KIND = ("certificates.k8s.io/v1", "CertificateSigningRequest")
POD_KIND = ("certificates.k8s.io/v1beta1", "PodCertificateRequest")
POD_REQUEST = {
    "spec": {
        "signerName": "example.com/signer",
        "stubPKCS10Request": "",
        **dict.fromkeys(("nodeName", "nodeUID", "podName", "podUID", "serviceAccountName", "serviceAccountUID"), "x"),
    }
}


def request(common_name="system:node:n", organization="system:nodes", dns=()):
    names = [x509.NameAttribute(NameOID.COMMON_NAME, common_name)]
    names.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization))
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(names))
    if dns:
        alternatives = [*map(x509.DNSName, dns), x509.IPAddress(ip_address("10.0.0.1"))]
        builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
    created = builder.sign(ec.generate_private_key(ec.SECP256R1()), SHA256())
    return base64.b64encode(created.public_bytes(Encoding.PEM)).decode()


def csr(*conditions, signer=KUBELET_CLIENT, usages=CLIENT, certificate=None, username="system:node:n"):
    rows = [{"type": condition, "status": "True", "lastUpdateTime": "2026-01-01T00:00:00Z"} for condition in conditions]
    body = {
        "metadata": {"name": "c", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"request": "", "signerName": signer, "usages": usages, "username": username},
        "status": {"conditions": rows, "certificate": certificate},
    }
    return msgspec.convert(body, CertificateSigningRequest)


@pytest.mark.parametrize(
    ("signer", "requested", "usages", "fault"),
    [
        (KUBELET_CLIENT, NODE, CLIENT, ""),
        (KUBELET_CLIENT, NODE, CLIENT[:1] + CLIENT[2:], ""),
        (KUBELET_CLIENT, RequestAttributes("system:node:n"), CLIENT, "subject organization is not system:nodes"),
        (KUBELET_CLIENT, SERVING, CLIENT, "DNS subjectAltNames are not allowed"),
        (
            KUBELET_CLIENT,
            RequestAttributes("n", NODE.organizations),
            CLIENT,
            "subject common name does not begin with system:node:",
        ),
        (KUBELET_CLIENT, NODE, SERVER, "usages did not match [client auth digital signature key encipherment]"),
        (KUBELET_SERVING, SERVING, SERVER, ""),
        (KUBELET_SERVING, NODE, SERVER, "DNS or IP subjectAltName is required"),
        (KUBELET_SERVING, SERVING, CLIENT, "usages did not match [digital signature key encipherment server auth]"),
        (API_CLIENT, RequestAttributes("alice"), CLIENT, ""),
        (API_CLIENT, RequestAttributes("alice"), SERVER, "invalid usage for client certificate: server auth"),
        (
            API_CLIENT,
            RequestAttributes("alice"),
            CLIENT[:2],
            "missing required usage for client certificate: client auth",
        ),
        (LEGACY_UNKNOWN, RequestAttributes("alice"), SERVER, ""),
    ],
)
def test_signers_validate_requests(signer, requested, usages, fault):
    assert signer_fault(signer, requested, usages) == fault


@pytest.mark.parametrize(
    ("obj", "subresources"),
    [
        (csr(), ["selfnodeclient", "nodeclient"]),
        (csr(username="alice"), ["nodeclient"]),
        (csr(signer=API_CLIENT), []),
        (csr(usages=SERVER), []),
    ],
)
def test_kubelets_requests_are_recognized(obj, subresources):
    assert [recognized_kind.subresource for recognized_kind in recognized(obj, NODE)] == subresources


@pytest.mark.parametrize(
    ("obj", "undecided", "to_be_signed"),
    [
        (csr(), True, False),
        (csr("Approved"), False, True),
        (csr("Approved", "Failed"), False, False),
        (csr("Denied"), False, False),
        (csr("Approved", certificate="x"), False, False),
    ],
)
def test_next_step_of_a_request(obj, undecided, to_be_signed):
    assert (is_undecided(obj), is_to_be_signed(obj)) == (undecided, to_be_signed)


CA_LIFE = (NOW - YEAR, NOW + 2 * YEAR)


@pytest.mark.parametrize(
    ("seconds", "start", "end"),
    [
        (None, timedelta(minutes=-5), YEAR - timedelta(minutes=5)),
        (3600, timedelta(minutes=-5), timedelta(hours=1)),
        (1, timedelta(minutes=-5), timedelta(minutes=10)),
        (10**9, timedelta(minutes=-5), YEAR - timedelta(minutes=5)),
    ],
)
def test_certificate_duration_is_bounded(seconds, start, end):
    assert validity(seconds, now=NOW, longest=YEAR, ca=CA_LIFE) == (NOW + start, NOW + end)


def test_certificate_does_not_outlive_its_signer():
    assert validity(None, now=NOW, longest=YEAR, ca=(NOW, NOW + timedelta(days=1))) == (NOW, NOW + timedelta(days=1))
    with pytest.raises(ValueError, match="the signer has expired"):
        validity(None, now=NOW, longest=YEAR, ca=(NOW - YEAR, NOW))


@pytest.mark.parametrize(
    ("obj", "end", "seconds"),
    [
        (csr(), None, 24 * 3600),
        (csr("Approved"), None, 24 * 3600),
        (csr("Approved", certificate="x"), None, 3600),
        (csr("Denied"), None, 3600),
        (csr("Approved", "Failed"), None, 3600),
        (csr("Approved", certificate="x"), NOW + timedelta(minutes=1), 60),
    ],
)
def test_requests_are_kept_for_a_while(obj, end, seconds):
    assert seconds_to_cleanup(obj, now=NOW, certificate_end=end) == seconds


def test_request_is_parsed():
    requested = Request(request(dns=["n"])).attributes
    assert requested == RequestAttributes("system:node:n", ("system:nodes",), ("n",), ("10.0.0.1",))
    with pytest.raises(ValueError, match="PEM"):
        Request("")


def test_signed_certificate_matches_the_request():
    ca = make_ca("ca", now=NOW, life=YEAR)
    signed = Authority(ca.certificate, ca.key).sign(Request(request(dns=["n"])), CLIENT, validity=(NOW, NOW + YEAR))
    certificate = x509.load_pem_x509_certificate(base64.b64decode(signed))
    certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(ca.certificate))
    usage = certificate.extensions.get_extension_for_class(x509.KeyUsage).value
    assert (usage.digital_signature, usage.key_encipherment, usage.key_cert_sign) == (True, True, False)
    extended = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(extended) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    assert certificate_end(signed) == NOW + YEAR
    assert certificate_end(None) is None


def test_certificate_without_key_usage_has_no_such_extension():
    ca = make_ca("ca", now=NOW, life=YEAR)
    signed = Authority(ca.certificate, ca.key).sign(Request(request()), ["client auth"], validity=(NOW, NOW + YEAR))
    certificate = x509.load_pem_x509_certificate(base64.b64decode(signed))
    with pytest.raises(x509.ExtensionNotFound):
        certificate.extensions.get_extension_for_class(x509.KeyUsage)


def test_unknown_usage_is_rejected():
    ca = make_ca("ca", now=NOW, life=YEAR)
    with pytest.raises(ValueError, match="unrecognized"):
        Authority(ca.certificate, ca.key).sign(Request(request()), ["magic"], validity=(NOW, NOW + YEAR))


def test_condition_is_added():
    condition = with_condition(csr(), "Approved", "R", "M", now=NOW)
    assert [(condition.type, condition.reason, condition.message) for condition in condition.status.conditions] == [
        ("Approved", "R", "M")
    ]


async def post(cluster, name, *, signer, usages):
    spec = {"request": request(), "signerName": signer, "usages": usages}
    return await cluster.make(*KIND, name, spec=spec)


async def test_kubelet_request_is_approved_with_permission(cluster):
    await cluster.start(approving.build)
    await post(cluster, "c", signer=KUBELET_CLIENT, usages=CLIENT)
    obj = await cluster.eventually(*KIND, "c", lambda obj: obj["status"].get("conditions"))
    condition = obj["status"]["conditions"][0]
    assert (condition["type"], condition["reason"]) == ("Approved", "AutoApproved")


@pytest.fixture
def ca_files(tmp_path, clock):
    ca = make_ca("ca", now=clock.now(), life=YEAR)
    files = {"cert": tmp_path / "ca.crt", "key": tmp_path / "ca.key"}
    files["cert"].write_bytes(ca.certificate)
    files["key"].write_bytes(ca.key)
    return {f"cluster_signing_{name}_file": str(file) for name, file in files.items()}


async def approve(cluster, name, *, type_="Approved"):
    condition = {"type": type_, "status": "True", "reason": "Test"}
    patch = {"status": {"conditions": [condition]}}
    kinds = tree(*KIND)
    await cluster.client.patch(kinds, name, patch, patch_type=PatchType.MERGE, subresource="approval")


async def test_approved_request_is_signed_or_rejected(cluster, ca_files):
    await cluster.start(signing.build, **ca_files)
    await post(cluster, "good", signer=API_CLIENT, usages=CLIENT)
    await post(cluster, "bad", signer=API_CLIENT, usages=SERVER)
    await approve(cluster, "good")
    await approve(cluster, "bad")
    await cluster.eventually(*KIND, "good", lambda obj: obj["status"].get("certificate"))

    def has_failed(obj):
        return any(condition["type"] == "Failed" for condition in obj["status"]["conditions"])

    bad = await cluster.eventually(*KIND, "bad", has_failed)
    assert "certificate" not in bad["status"]


def test_signing_controller_is_disabled_without_a_signer():
    assert signing.authorities(type("Options", (), {"__getattr__": lambda self, name: ""})()) == {}


async def test_denied_requests_are_deleted_after_an_hour(cluster, clock):
    await cluster.start(cleaner.build)
    await post(cluster, "c", signer=API_CLIENT, usages=CLIENT)
    await approve(cluster, "c", type_="Denied")
    await clock.advance(3500)
    assert await cluster.find(*KIND, "c")
    await clock.advance(150)
    await cluster.eventually(*KIND, "c", lambda obj: obj is None)


@pytest.mark.parametrize(("age", "left"), [(0, 900), (899, 1), (900, 0), (5000, -4100)])
def test_pod_certificate_request_is_kept_for_15_minutes(age, left):
    created = (NOW - timedelta(seconds=age)).isoformat()
    body = {**POD_REQUEST, "metadata": {"name": "r", "creationTimestamp": created}}
    assert seconds_to_pod_request_cleanup(msgspec.convert(body, PodCertificateRequest), now=NOW) == left


async def test_requests_of_pods_are_deleted_when_they_are_due(cluster):
    requests = pod_request_cleaner.REQUESTS
    await cluster.define(requests)
    await cluster.make(*POD_KIND, "old", namespace="default", spec=POD_REQUEST["spec"])
    await cluster.clock.advance(600)
    await cluster.start(pod_request_cleaner.build)
    await cluster.make(*POD_KIND, "young", namespace="default", spec=POD_REQUEST["spec"])

    async def names():
        return [result.metadata.name for result in await cluster.client.list(requests)]

    async def is_deleted():
        return await names() == ["young"]

    await cluster.clock.advance(200)
    assert await names() == ["old", "young"]
    await cluster.until(is_deleted, step_seconds=5, within_seconds=200)
