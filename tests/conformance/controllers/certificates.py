"""Scenario of CertificateSigningRequests: each is approved, signed or rejected by the rules, and deleted when due.

Expected states are from "Certificates and Certificate Signing Requests" of Kubernetes' documentation (signers,
approval, retention) and "TLS bootstrapping" (approval permissions).
"""

from __future__ import annotations

import base64
import json
from datetime import datetime, timedelta
from functools import cache
from typing import Any, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from tests.conformance.histories import Edits, Scenario, World

from steersman.asynckit.certificates import make_ca
from steersman.client import tree
from steersman.client.transport import Request

API = "certificates.k8s.io/v1"
REQUESTS = tree(API, "CertificateSigningRequest")
BINDINGS = tree("rbac.authorization.k8s.io/v1", "ClusterRoleBinding")
NAMES = ("r1", "r2", "r3", "r4")
NODE = "system:node:n1"
CLIENT = ("digital signature", "key encipherment", "client auth")
SERVER = ("digital signature", "server auth")
KUBELET_CLIENT = "kubernetes.io/kube-apiserver-client-kubelet"
KUBELET_SERVING = "kubernetes.io/kubelet-serving"
API_CLIENT = "kubernetes.io/kube-apiserver-client"
#: Permissions that change: group → approval that it grants.
RIGHTS = {"system:bootstrappers": "nodeclient", "system:nodes": "selfnodeclient"}
#: Grace for requests that have just become due.
JUST_NOW = timedelta(seconds=5)


class RequestTraits(NamedTuple):
    """Kind of request."""

    signer: str
    common_name: str
    organization: str
    dns: str
    usages: tuple[str, ...]
    #: True if the signer's rules allow it.
    fits: bool


KINDS = (
    RequestTraits(KUBELET_CLIENT, NODE, "system:nodes", "", CLIENT, fits=True),
    RequestTraits(KUBELET_CLIENT, NODE, "others", "", CLIENT, fits=False),
    RequestTraits(KUBELET_CLIENT, NODE, "system:nodes", "n1", CLIENT, fits=False),
    RequestTraits(KUBELET_CLIENT, NODE, "system:nodes", "", SERVER, fits=False),
    RequestTraits(KUBELET_SERVING, NODE, "system:nodes", "n1", SERVER, fits=True),
    RequestTraits(KUBELET_SERVING, NODE, "system:nodes", "", SERVER, fits=False),
    RequestTraits(API_CLIENT, "alice", "people", "", CLIENT, fits=True),
    RequestTraits(API_CLIENT, "alice", "people", "", SERVER, fits=False),
    RequestTraits("example.com/other", "alice", "people", "", SERVER, fits=True),
)


class User(NamedTuple):
    """Author of a request."""

    name: str
    group: str


USERS = (User("system:bootstrap:aaaaaa", "system:bootstrappers"), User(NODE, "system:nodes"))


class Certificates(Scenario):
    """Nodes join and renew, administrators approve and deny, permissions change, hours pass."""

    controllers = (
        "certificatesigningrequest-approving-controller",
        "certificatesigningrequest-signing-controller",
        "certificatesigningrequest-cleaner-controller",
    )

    def __init__(self) -> None:
        self.options: dict[str, Any] = {}
        #: Kind and user of the request, by its UID.
        self._requests: dict[str, tuple[RequestTraits, User]] = {}
        #: Groups with their permission, and UIDs of requests whose user had it at some time.
        self._rights: set[str] = set()
        self._could: set[str] = set()
        #: First certificate and latest state of existing requests, by UID.
        self._certificates: dict[str, str] = {}
        self._observed: dict[str, dict[str, Any]] = {}
        self._too_early = ""

    async def prepare(self, world: World) -> None:
        ca = make_ca("the CA", now=world.clock.now(), life=timedelta(days=3650))
        self._ca = x509.load_pem_x509_certificate(ca.certificate)
        for name, pem in (("cert", ca.certificate), ("key", ca.key)):
            file = world.folder / f"ca.{name}"
            file.write_bytes(pem)
            self.options[f"cluster_signing_{name}_file"] = str(file)
        await self._bind(world, "ask", "system:bootstrappers", "system:node-bootstrapper")

    def edits(self) -> Edits:
        return [self.ask, self.ask, self.ask, self.ask, self.decide, self.decide, self.remove, self.give_right,
                self.give_right, self.take_right, self.wait]  # fmt: skip

    async def live(self, world: World) -> None:
        """Check that deleted requests were due."""
        requests = {request["metadata"]["uid"]: request for request in await world.client.list(REQUESTS)}
        for uid in self._observed.keys() - requests.keys():
            deleted = self._observed[uid]
            seconds = min(deleted["spec"].get("expirationSeconds") or 3600, 3600)
            if world.clock.now() < _time(deleted["metadata"]["creationTimestamp"]) + timedelta(seconds=seconds):
                self._too_early = f"{deleted['metadata']['name']} went too early: {deleted}"
        self._observed = requests

    async def ask(self, world: World) -> None:
        dice = world.dice
        kind, user = dice.choice([*KINDS, KINDS[0], KINDS[0], KINDS[0]]), dice.choice(USERS)
        spec = {"request": _encoded(kind), "signerName": kind.signer, "usages": kind.usages,
                "expirationSeconds": dice.choice([None, 600, 7200])}  # fmt: skip
        body = {
            "apiVersion": API,
            "kind": "CertificateSigningRequest",
            "metadata": {"name": dice.choice(NAMES)},
            "spec": spec,
        }
        answer = await world.client.raw(
            Request(
                "POST",
                f"/apis/{API}/certificatesigningrequests",
                headers={"impersonate-user": user.name, "impersonate-group": user.group},
                body=json.dumps(body).encode(),
            )
        )
        uid = json.loads(answer.body)["metadata"]["uid"]
        self._requests[uid] = (kind, user)
        if user.group in self._rights:
            self._could.add(uid)

    async def decide(self, world: World) -> None:
        requests = await world.client.list(REQUESTS)
        if requests:
            csr = world.dice.choice(requests)
            condition = {
                "type": world.dice.choice(["Approved", "Approved", "Denied"]),
                "status": "True",
                "reason": "ByHand",
            }
            status = {**csr["status"], "conditions": [*(csr["status"].get("conditions") or ()), condition]}
            await world.client.update({**csr, "status": status}, subresource="approval")

    async def remove(self, world: World) -> None:
        requests = await world.client.list(REQUESTS)
        if requests:
            csr = world.dice.choice(requests)
            await world.client.delete_object(csr)
            self._observed.pop(csr["metadata"]["uid"], None)

    async def give_right(self, world: World) -> None:
        group = world.dice.choice(sorted(RIGHTS))
        role = f"system:certificates.k8s.io:certificatesigningrequests:{RIGHTS[group]}"
        await self._bind(world, group, group, role)
        self._rights.add(group)
        self._could |= {uid for uid, (_, user) in self._requests.items() if user.group == group}

    async def take_right(self, world: World) -> None:
        group = world.dice.choice(sorted(RIGHTS))
        await world.client.delete(BINDINGS, group)
        self._rights.discard(group)

    async def _bind(self, world: World, name: str, group: str, role: str) -> None:
        api_group = "rbac.authorization.k8s.io"
        body = {"apiVersion": f"{api_group}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
                "roleRef": {"apiGroup": api_group, "kind": "ClusterRole", "name": role},
                "subjects": [{"apiGroup": api_group, "kind": "Group", "name": group}]}  # fmt: skip
        await world.client.create(body)

    async def wait(self, world: World) -> None:
        await world.clock.jump(world.dice.choice([60, 700, 3700, 86500]))
        await world.advance(10)

    # What must be

    async def wrong(self, world: World) -> str:
        if self._too_early:
            return self._too_early
        for csr in await world.client.list(REQUESTS):
            fault = self._wrong_with(csr, world.clock.now())
            if fault:
                return f"{csr['metadata']['name']}: {fault}; {self._requests[csr['metadata']['uid']]}, {csr['status']}"
        return ""

    def _wrong_with(self, csr: dict[str, Any], now: datetime) -> str:
        uid, status = csr["metadata"]["uid"], csr["status"]
        kind, user = self._requests[uid]
        types = [condition["type"] for condition in status.get("conditions") or ()]
        if len(types) != len(set(types)):
            return "a condition is there twice"
        if any(due < now - JUST_NOW for due in _dues(csr)):
            return f"it is still there at {now}"
        is_known = kind == KINDS[0] and (user.group != "system:nodes" or user.name == kind.common_name)
        if any(condition["reason"] == "AutoApproved" for condition in status.get("conditions") or ()):
            if not is_known or uid not in self._could:
                return "it should not have been approved"
        elif is_known and not types and user.group in self._rights:
            return "it is not approved"
        return self._wrong_signature(csr, kind, types)

    def _wrong_signature(self, csr: dict[str, Any], kind: RequestTraits, types: list[str]) -> str:
        encoded = csr["status"].get("certificate")
        is_ours = "Approved" in types and kind.signer.startswith("kubernetes.io/")
        if bool(encoded) != (is_ours and kind.fits) or ("Failed" in types) != (is_ours and not kind.fits):
            return "it is signed or refused against the rules"
        if not encoded:
            return ""
        if self._certificates.setdefault(csr["metadata"]["uid"], encoded) != encoded:
            return "it was signed twice"
        certificate = x509.load_pem_x509_certificate(base64.b64decode(encoded))
        certificate.verify_directly_issued_by(self._ca)
        request = x509.load_pem_x509_csr(base64.b64decode(csr["spec"]["request"]))
        if certificate.subject != request.subject or certificate.public_key() != request.public_key():
            return "the certificate is another's"
        extended = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        usage = ExtendedKeyUsageOID.CLIENT_AUTH if "client auth" in kind.usages else ExtendedKeyUsageOID.SERVER_AUTH
        if list(extended) != [usage] or _names(certificate) != ([kind.dns] if kind.dns else []):
            return "the certificate is for something else"
        longest = timedelta(seconds=csr["spec"].get("expirationSeconds") or 365 * 86400, minutes=5)
        life = certificate.not_valid_after_utc - certificate.not_valid_before_utc
        return f"the certificate lives for {life}" if life > longest else ""


def _dues(csr: dict[str, Any]) -> list[datetime]:
    """Return when a request is to be deleted; approved requests that are never signed are skipped."""
    status = csr["status"]
    conditions, certificate = status.get("conditions") or (), status.get("certificate")
    done = [condition for condition in conditions if condition["type"] in ("Denied", "Failed") or certificate]
    dues = [_time(condition["lastUpdateTime"]) + timedelta(hours=1) for condition in done]
    if not conditions:
        dues.append(_time(csr["metadata"]["creationTimestamp"]) + timedelta(hours=24))
    if certificate:
        dues.append(x509.load_pem_x509_certificate(base64.b64decode(certificate)).not_valid_after_utc)
    return dues


def _names(certificate: x509.Certificate) -> list[str]:
    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return []
    return extension.value.get_values_for_type(x509.DNSName)


@cache
def _encoded(kind: RequestTraits) -> str:
    names = [(NameOID.COMMON_NAME, kind.common_name), (NameOID.ORGANIZATION_NAME, kind.organization)]
    subject = x509.Name([x509.NameAttribute(oid, text) for oid, text in names])
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject)
    if kind.dns:
        alternatives = x509.SubjectAlternativeName([x509.DNSName(kind.dns)])
        builder = builder.add_extension(alternatives, critical=False)
    certificate_request = builder.sign(ec.generate_private_key(ec.SECP256R1()), SHA256())
    return base64.b64encode(certificate_request.public_bytes(Encoding.PEM)).decode()


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
