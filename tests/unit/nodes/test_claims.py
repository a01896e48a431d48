"""Pods with claims that are not bound, as a kubelet reports them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.nodes.world import PODS, Cluster, cluster

from steersman.apimachinery.trees import Tree
from steersman.client import tree
from steersman.nodes.claims import ClaimVolume, claim_error, claim_volumes, mount_failure

CLAIMS, EVENTS = tree("v1", "PersistentVolumeClaim"), tree("v1", "Event")
DATA = {"name": "data", "persistentVolumeClaim": {"claimName": "k"}}
POD = {"metadata": {"name": "p", "namespace": "default", "uid": "1"}}


def container(*volumes: str) -> Tree:
    return {"name": "c", "image": "i", "volumeMounts": [{"name": name, "mountPath": f"/{name}"} for name in volumes]}


def claim(*, phase: str = "Bound", volume: str = "v", owner: str = "", **metadata: Any) -> Tree:
    references = [{"uid": owner, "controller": True}] if owner else []
    return {
        "metadata": {"name": "k", "namespace": "default", "uid": "2", "ownerReferences": references, **metadata},
        "spec": {"volumeName": volume},
        "status": {"phase": phase},
    }


async def create_claim(world: Cluster, **spec: Any) -> None:
    requested = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
    metadata = {"name": "k", "namespace": "default"}
    await world.client.create({"apiVersion": "v1", "kind": CLAIMS.info.kind, "metadata": metadata, "spec": requested})
    await world.settle()


async def bind(world: Cluster) -> None:
    await world.client.patch(CLAIMS, "k", {"spec": {"volumeName": "v"}}, namespace="default")
    status = {"status": {"phase": "Bound"}}
    await world.client.patch(CLAIMS, "k", status, namespace="default", subresource="status")
    await world.settle()


def test_claims_of_mounted_volumes_count() -> None:
    volumes = [DATA, {"name": "e", "ephemeral": {"volumeClaimTemplate": {}}}, {**DATA, "name": "unused"}]
    pod = {**POD, "spec": {"volumes": volumes, "containers": [container("data")], "initContainers": [container("e")]}}
    assert list(claim_volumes(pod)) == [ClaimVolume("data", "k"), ClaimVolume("e", "p-e", is_ephemeral=True)]


@pytest.mark.parametrize(
    ("observed", "is_ephemeral", "expected"),
    [
        (None, False, 'failed to fetch PVC from API server: persistentvolumeclaims "k" not found'),
        (claim(deletionTimestamp="2026-01-01T00:00:00Z"), False, "PVC is being deleted"),
        (claim(phase="Pending", volume=""), False, "PVC is not bound"),
        (claim(volume=""), False, "PVC has empty pvc.Spec.VolumeName"),
    ],
)
def test_claim_errors_name_the_claim(observed: Tree | None, is_ephemeral: bool, expected: str) -> None:
    volume = ClaimVolume("data", "k", is_ephemeral)
    assert claim_error(observed, volume, POD) == f"error processing PVC default/k: {expected}"


def test_ephemeral_claims_must_be_owned_by_the_pod() -> None:
    volume = ClaimVolume("data", "k", is_ephemeral=True)
    assert not claim_error(claim(owner="1"), volume, POD)
    assert not claim_error(claim(), volume._replace(is_ephemeral=False), POD)
    message = "PVC default/k (2) was not created for pod default/p (1) (pod is not owner)"
    assert claim_error(claim(owner="3"), volume, POD) == message


async def test_pod_waits_until_its_claim_is_bound() -> None:
    async with cluster() as world:
        await world.pod("p", containers=[container("data")], volumes=[DATA])
        await world.settle()
        await create_claim(world)
        pod = await world.client.get(PODS, "p", namespace="default")
        assert pod["status"]["containerStatuses"][0]["state"] == {"waiting": {"reason": "ContainerCreating"}}
        assert "podIP" not in pod["status"]
        events = await world.client.list(EVENTS, namespace="default", field_selector="reason=FailedMount")
        missing = 'failed to fetch PVC from API server: persistentvolumeclaims "k" not found'
        message = mount_failure({"data": f"error processing PVC default/k: {missing}"})
        assert [event["message"] for event in events] == [message]
        assert message.startswith("Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[]")
        await bind(world)
        assert await world.phase("p") == "Running"


async def test_pod_with_a_bound_claim_starts() -> None:
    async with cluster() as world:
        await create_claim(world)
        await bind(world)
        await world.pod("p", containers=[container("data")], volumes=[DATA])
        await world.settle()
        assert await world.phase("p") == "Running"
