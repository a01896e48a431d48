"""Feed of the node authorizer's graph."""

import json

from steersman.apiserver.kinds.core.node.graph_feed import _claim_and_secrets, _pod_references, node_graph
from steersman.testing import InProcessAPIServer

POD = {
    "metadata": {"name": "p", "namespace": "ns"},
    "spec": {
        "nodeName": "n1",
        "serviceAccountName": "robot",
        "imagePullSecrets": [{"name": "pull"}],
        "containers": [
            {
                "name": "c",
                "env": [{"name": "E", "valueFrom": {"configMapKeyRef": {"name": "env", "key": "k"}}}],
                "envFrom": [{"configMapRef": {"name": "from"}}, {"secretRef": {"name": "sec"}}],
            }
        ],
        "volumes": [
            {"name": "a", "configMap": {"name": "vol"}},
            {"name": "b", "projected": {"sources": [{"configMap": {"name": "proj"}}, {"secret": {"name": "psec"}}]}},
            {"name": "c", "persistentVolumeClaim": {"claimName": "claim"}},
            {"name": "d", "ephemeral": {}},
        ],
        "resourceClaims": [{"name": "x", "resourceClaimName": "device"}],
    },
    "status": {"resourceClaimStatuses": [{"name": "y", "resourceClaimName": "made"}]},
}


def test_pod_references_lists_mentioned_objects():
    needs = _pod_references(POD)
    assert needs.node == "n1"
    named = {(kind, name) for kind, namespace, name in needs.refs if name and namespace == "ns"}
    assert named == {
        ("ServiceAccount", "robot"),
        *(("Secret", name) for name in ("pull", "sec", "psec")),
        *(("ConfigMap", name) for name in ("env", "from", "vol", "proj")),
        ("PersistentVolumeClaim", "claim"),
        ("PersistentVolumeClaim", "p-d"),
        ("ResourceClaim", "device"),
        ("ResourceClaim", "made"),
    }


def test_pod_references_is_empty_for_mirror_and_unscheduled_pods():
    mirror = {**POD, "metadata": {"name": "p", "annotations": {"kubernetes.io/config.mirror": "x"}}}
    assert _pod_references(mirror).refs == frozenset()
    assert _pod_references({"metadata": {"name": "p"}, "spec": {}}) is None


def test_claim_and_secrets_of_bound_volume():
    claim = {"namespace": "ns", "name": "c"}
    csi = {"nodePublishSecretRef": {"name": "s", "namespace": "vault"}}
    spec = {"claimRef": claim, "csi": csi, "azureFile": {"secretName": "f"}}
    assert _claim_and_secrets({"spec": spec}) == (
        ("PersistentVolumeClaim", "ns", "c"),
        [("Secret", "vault", "s"), ("Secret", "ns", "f")],
    )
    assert _claim_and_secrets({"spec": {"csi": csi}}) == (None, [])


async def test_node_graph_follows_pods():
    async with InProcessAPIServer() as server:
        registry = server.core.resources.registry
        graph = node_graph(registry)
        await registry.stored("pods").cache.ready()
        account = json.dumps({"metadata": {"name": "default"}}).encode()
        await server.request("POST", "/api/v1/namespaces/default/serviceaccounts", body=account)
        spec = {"nodeName": "n1", "containers": [{"name": "c", "image": "i"}]}
        body = json.dumps({"metadata": {"name": "p"}, "spec": spec}).encode()
        assert (await server.request("POST", "/api/v1/namespaces/default/pods", body=body)).code == 201
        assert graph.has_path("n1", "ServiceAccount", "default", "default")
        await server.request("DELETE", "/api/v1/namespaces/default/pods/p?gracePeriodSeconds=0")
        assert not graph.has_path("n1", "ServiceAccount", "default", "default")
