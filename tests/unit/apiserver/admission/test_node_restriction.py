from __future__ import annotations

import base64

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tests.unit.apiserver.admission.plugged import Plugged, refusal
from tests.unit.apiserver.writing import PODS, USER

from steersman.apiserver.admission.interface import Attributes, Operation
from steersman.apiserver.admission.node_restriction import NodeRestriction
from steersman.apiserver.authz.interface import ALLOW, NO_OPINION
from steersman.apiserver.request import UserInfo

NODE = UserInfo("system:node:n", groups=("system:nodes",))
NODES = "/api/v1/nodes"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
SLICES = "/apis/resource.k8s.io/v1/resourceslices"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
MIRROR = {"kubernetes.io/config.mirror": "x"}


class Rights:
    """Authorizer with a fixed decision that records its requests."""

    def __init__(self, decision=NO_OPINION):
        self.decision = decision
        self.requests = []

    def authorize(self, user, info):
        self.requests.append((info.verb, info.resource, info.namespace, info.name))
        return self.decision


class Kubelets(Plugged):
    """Server whose requests come from a node once it exists."""

    def __init__(self, rights=None):
        super().__init__(lambda stored: NodeRestriction(lambda name: stored(name).cache, authorizer=rights or Rights()))
        self.user = USER

    def request(self, *arguments, **more):
        request = super().request(*arguments, **more)
        request.user = self.user
        return request

    async def __aenter__(self):
        await super().__aenter__()
        self.node = await self.make(NODES, metadata={"name": "n"})
        self.user = NODE
        return self

    async def as_admin(self, *arguments, **more):
        self.user = USER
        answer = await self.call(*arguments, **more)
        self.user = NODE
        assert answer.code < 300, answer.body
        return answer.body

    async def mirror(self, *, metadata=None, owner=None, **spec):
        reference = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": self.node["metadata"]["uid"]}
        owners = [{**reference, "controller": True, **(owner or {})}]
        fields = {"annotations": MIRROR, "ownerReferences": owners, **(metadata or {})}
        return await self.pod(metadata=fields, **{"nodeName": "n", **spec})


async def test_other_users_are_not_restricted():
    async with Kubelets() as server:
        server.user = USER
        assert (await server.pod()).code == 201


async def test_node_user_without_a_name_is_rejected():
    async with Kubelets() as server:
        server.user = UserInfo("system:node:", groups=("system:nodes",))
        assert refusal(await server.pod()) == 'could not determine node from user "system:node:"'


async def test_mirror_pod_of_the_node_is_created():
    async with Kubelets() as server:
        assert (await server.mirror()).code == 201


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"metadata": {"annotations": {}}}, "can only create mirror pods"),
        ({"nodeName": "m"}, 'node "n" can only create pods with spec.nodeName set to itself'),
        ({"metadata": {"ownerReferences": []}}, 'node "n" can only create pods with an owner reference set to itself'),
        ({"owner": {"name": "m"}}, 'node "n" can only create pods with an owner reference set to itself'),
        (
            {"owner": {"controller": False}},
            'node "n" can only create pods with a controller owner reference set to itself',
        ),
        ({"owner": {"blockOwnerDeletion": True}}, 'node "n" must not set blockOwnerDeletion on an owner reference'),
        ({"owner": {"uid": "u"}}, "node n UID mismatch: expected u got "),
        ({"serviceAccountName": "s"}, 'node "n" can not create pods that reference a service account'),
        (
            {"volumes": [{"name": "v", "secret": {"secretName": "s"}}]},
            'node "n" can not create pods that reference secrets',
        ),
        (
            {"volumes": [{"name": "v", "configMap": {"name": "s"}}]},
            'node "n" can not create pods that reference configmaps',
        ),
        (
            {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "s"}}]},
            'node "n" can not create pods that reference persistentvolumeclaims',
        ),
        (
            {"resourceClaims": [{"name": "c", "resourceClaimName": "c"}]},
            'node "n" can not create pods that reference resourceclaims',
        ),
    ],
)
async def test_other_pods_are_rejected(changes, text):
    async with Kubelets() as server:
        assert text in refusal(await server.mirror(**changes))


async def test_node_deletes_and_updates_status_of_its_pods_only():
    async with Kubelets() as server:
        for name, node in (("a", "n"), ("b", "m")):
            spec = {"nodeName": node, "containers": [{"name": "c", "image": "i"}]}
            await server.as_admin("POST", PODS, {"metadata": {"name": name}, "spec": spec})
        status = {"status": {"phase": "Running"}}
        assert (await server.merge(f"{PODS}/a/status", status)).code == 200
        assert refusal(await server.merge(f"{PODS}/b/status", status)) == (
            'node "n" can only update pod status for pods with spec.nodeName set to itself'
        )
        assert refusal(await server.merge(f"{PODS}/a/status", {"metadata": {"labels": {"a": "b"}}})) == (
            'node "n" cannot update labels through pod status'
        )
        claims = {"status": {"resourceClaimStatuses": [{"name": "c", "resourceClaimName": "c"}]}}
        assert "cannot update resource claim statues" in refusal(await server.merge(f"{PODS}/a/status", claims))
        assert "can only create and delete mirror pods" in refusal(
            await server.merge(f"{PODS}/a", {"metadata": {"labels": {"a": "b"}}})
        )
        assert refusal(await server.call("DELETE", f"{PODS}/b")) == (
            'node "n" can only delete pods with spec.nodeName set to itself'
        )
        assert (await server.call("DELETE", f"{PODS}/a")).code == 200


async def test_node_evicts_its_pods_only():
    async with Kubelets() as server:
        await server.as_admin(
            "POST",
            PODS,
            {"metadata": {"name": "b"}, "spec": {"nodeName": "m", "containers": [{"name": "c", "image": "i"}]}},
        )
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "b"}}
        assert refusal(await server.call("POST", f"{PODS}/b/eviction", eviction)) == (
            "node n can only evict pods with spec.nodeName set to itself"
        )
        ephemeral = await server.merge(f"{PODS}/b/ephemeralcontainers", {"spec": {}})
        assert "only 'status' and 'eviction' are allowed" in refusal(ephemeral)


async def test_node_update_is_limited():
    async with Kubelets() as server:
        assert (await server.merge(f"{NODES}/n", {"metadata": {"labels": {"kubernetes.io/os": "linux"}}})).code == 200
        for patch, text in (
            ({"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}, "is not allowed to modify taints"),
            ({"spec": {"configSource": {}}}, "is not allowed to update configSource to a new non-nil configSource"),
            (
                {"metadata": {"labels": {"node-restriction.kubernetes.io/a": "b", "x": "y"}}},
                "is not allowed to modify labels: node-restriction.kubernetes.io/a",
            ),
            (
                {"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"}]}},
                "is not allowed to modify ownerReferences",
            ),
        ):
            assert text in refusal(await server.merge(f"{NODES}/n", patch))
        other = await server.call("POST", NODES, {"metadata": {"name": "m"}})
        assert refusal(other) == 'node "n" is not allowed to modify node "m"'


async def test_node_registration_is_limited():
    async with Kubelets() as server:
        await server.as_admin("DELETE", f"{NODES}/n")
        labels = {"node-role.kubernetes.io/control-plane": ""}
        refused = await server.call("POST", NODES, {"metadata": {"name": "n", "labels": labels}})
        assert refusal(refused) == (
            'node "n" is not allowed to set the following labels: node-role.kubernetes.io/control-plane'
        )
        assert (await server.call("POST", NODES, {"metadata": {"name": "n"}})).code == 201


async def test_lease_and_csi_node_must_have_the_nodes_name():
    async with Kubelets() as server:
        await server.as_admin("POST", "/api/v1/namespaces", {"metadata": {"name": "kube-node-lease"}})
        assert (await server.call("POST", LEASES, {"metadata": {"name": "n"}, "spec": {}})).code == 201
        other = await server.call("POST", LEASES, {"metadata": {"name": "m"}, "spec": {}})
        assert refusal(other) == "can only access node lease with the same name as the requesting node"
        elsewhere = LEASES.replace("kube-node-lease", "default")
        assert 'the "kube-node-lease" system namespace' in refusal(
            await server.call("POST", elsewhere, {"metadata": {"name": "n"}, "spec": {}})
        )
        csi_node = {"metadata": {"name": "m"}, "spec": {"drivers": []}}
        assert refusal(await server.call("POST", "/apis/storage.k8s.io/v1/csinodes", csi_node)) == (
            "can only access CSINode with the same name as the requesting node"
        )


async def test_resource_slice_must_belong_to_the_node():
    async with Kubelets() as server:
        spec = {"driver": "d.example.com", "pool": {"name": "p", "resourceSliceCount": 1}, "nodeName": "m"}
        body = {"metadata": {"name": "s"}, "spec": spec}
        assert refusal(await server.call("POST", SLICES, body)) == (
            "can only create ResourceSlice with the same NodeName as the requesting node"
        )
        await server.as_admin("POST", SLICES, body)
        assert refusal(await server.call("DELETE", f"{SLICES}/s")) == (
            "can only delete ResourceSlice with the same NodeName as the requesting node"
        )


async def test_node_updates_expansion_fields_of_claims_only():
    async with Kubelets() as server:
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        await server.as_admin("POST", CLAIMS, {"metadata": {"name": "a"}, "spec": spec})
        message = await server.merge(f"{CLAIMS}/a/status", {"status": {"capacity": {"storage": "1Gi"}}})
        assert message.code == 200
        assert "is not allowed to update fields other than" in refusal(
            await server.merge(f"{CLAIMS}/a/status", {"status": {"phase": "Bound"}})
        )
        assert refusal(await server.merge(f"{CLAIMS}/a", {"metadata": {"labels": {"a": "b"}}})) == (
            "may only update PVC status"
        )


def pem(name: str) -> str:
    names = [x509.NameAttribute(x509.NameOID.COMMON_NAME, name)]
    names.append(x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, "system:nodes"))
    key = ec.generate_private_key(ec.SECP256R1())
    request = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(names)).sign(key, hashes.SHA256())
    return base64.b64encode(request.public_bytes(serialization.Encoding.PEM)).decode()


@pytest.mark.parametrize(("name", "code"), [("system:node:n", 201), ("system:node:m", 403)])
async def test_csr_must_have_the_nodes_common_name(name, code):
    async with Kubelets() as server:
        spec = {"signerName": "kubernetes.io/kube-apiserver-client-kubelet", "request": pem(name)}
        body = {"metadata": {"name": "r"}, "spec": {**spec, "usages": ["digital signature", "client auth"]}}
        assert (await server.call("POST", REQUESTS, body)).code == code


class Tokens(Kubelets):
    """Server with a pod on the node, and another elsewhere."""

    async def __aenter__(self):
        await super().__aenter__()
        volumes = [{"name": "t", "projected": {"sources": [{"serviceAccountToken": {"path": "t", "audience": "a"}}]}}]
        volumes.append({"name": "c", "csi": {"driver": "d.example.com"}})
        spec = {"containers": [{"name": "c", "image": "i"}], "volumes": volumes, "serviceAccountName": "s"}
        driver = {"tokenRequests": [{"audience": "of-driver"}], "volumeLifecycleModes": ["Ephemeral"]}
        body = {"metadata": {"name": "d.example.com"}, "spec": driver}
        await self.as_admin("POST", "/apis/storage.k8s.io/v1/csidrivers", body)
        for name, node in (("a", "n"), ("b", "m")):
            new_body = {"metadata": {"name": name}, "spec": {**spec, "nodeName": node}}
            setattr(self, name, (await self.as_admin("POST", PODS, new_body))["metadata"]["uid"])
        return self

    async def ask(self, *audiences, **ref):
        bound = {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": self.a, **ref}
        written = Attributes(
            Operation.CREATE,
            self.registry.get("", "v1", "serviceaccounts"),
            self.context("serviceaccounts", user=NODE),
            name="s",
            obj={"metadata": {"name": "s"}, "spec": {"audiences": list(audiences), "boundObjectRef": bound}},
            subresource="token",
        )
        await self.admission.plugins[-1].admit(written)


@pytest.mark.parametrize("audience", ["a", "of-driver"])
async def test_token_for_an_audience_of_the_pod_is_allowed(audience):
    async with Tokens() as server:
        await server.ask(audience)


@pytest.mark.parametrize(
    ("audiences", "ref", "text"),
    [
        (["a"], {"kind": "Secret"}, "node requested token not bound to a pod"),
        (["a"], {"uid": ""}, "node requested token with a pod binding without a uid"),
        (["a"], {"uid": "u"}, "does not match the UID in record"),
        (["a"], {"name": "missing"}, 'pods "missing" not found'),
        (["a", "b"], {}, "node may only request 0 or 1 audiences"),
        (["b"], {}, 'audience "b" not found in pod spec volume, system:node:n is not authorized'),
    ],
)
async def test_other_tokens_are_rejected(audiences, ref, text):
    async with Tokens() as server:
        with pytest.raises(Exception, match=text):
            await server.ask(*audiences, **ref)


async def test_token_of_a_pod_on_another_node_is_rejected():
    async with Tokens() as server:
        with pytest.raises(Exception, match="bound to a pod scheduled on a different node"):
            await server.ask("a", name="b", uid=server.b)


async def test_permission_allows_other_audiences():
    rights = Rights(ALLOW)
    async with Tokens(rights) as server:
        await server.ask("b")
        assert rights.requests == [("request-serviceaccounts-token-audience", "b", "default", "s")]
