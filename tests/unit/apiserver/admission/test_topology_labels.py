from __future__ import annotations

from tests.unit.apiserver.admission.plugged import Plugged
from tests.unit.apiserver.writing import PODS

from steersman.apiserver.admission.topology_labels import PodTopologyLabels

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"


def labelled():
    return Plugged(lambda stored: PodTopologyLabels(stored("nodes").cache))


async def node(server, **labels):
    await server.make("/api/v1/nodes", metadata={"name": "n", "labels": {"other": "x", **labels}})


async def test_pod_created_with_a_node_gets_its_labels():
    async with labelled() as server:
        await node(server, **{ZONE: "z1", REGION: "r1"})
        pod = (await server.pod(nodeName="n", metadata={"labels": {ZONE: "mine", "a": "b"}})).body
        assert pod["metadata"]["labels"] == {ZONE: "z1", REGION: "r1", "a": "b"}


async def test_binding_sets_labels_of_the_node():
    async with labelled() as server:
        await node(server, **{ZONE: "z1"})
        await server.pod()
        binding = {"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n"}}
        assert (await server.call("POST", f"{PODS}/a/binding", binding)).code == 201
        assert (await server.call("GET", f"{PODS}/a")).body["metadata"]["labels"] == {ZONE: "z1"}


async def test_pod_without_a_known_node_is_unchanged():
    async with labelled() as server:
        await node(server, **{ZONE: "z1"})
        assert "labels" not in (await server.pod()).body["metadata"]
        assert "labels" not in (await server.pod("b", nodeName="unknown")).body["metadata"]
