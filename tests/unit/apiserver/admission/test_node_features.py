from __future__ import annotations

import pytest
from tests.unit.apiserver.admission.plugged import Plugged, refusal
from tests.unit.apiserver.writing import PODS, STRATEGIC_PATCH

from steersman.apiserver.admission.node_features import NodeDeclaredFeatureValidator, needed_features

FEATURE = "InPlacePodLevelResourcesVerticalScaling"


def validated():
    return Plugged(lambda stored: NodeDeclaredFeatureValidator(stored("nodes").cache))


async def resize(server, cpu):
    amounts = {"cpu": cpu, "memory": "1Mi"}
    change = {"spec": {"resources": {"limits": amounts, "requests": amounts}}}
    return await server.call("PATCH", f"{PODS}/a/resize", change, media_type=STRATEGIC_PATCH)


async def make(server, **spec):
    amounts = {"cpu": "1", "memory": "1Mi"}
    resources = {"limits": amounts, "requests": amounts}
    await server.pod(containers=[{"name": "c", "image": "i"}], resources=resources, **spec)


async def test_update_requires_declared_node_features():
    async with validated() as server:
        await make(server, nodeName="n")
        assert refusal(await resize(server, "2")) == 'node "n" not found'
        await server.make("/api/v1/nodes", metadata={"name": "n"})
        assert refusal(await resize(server, "2")) == (
            f'pod update requires features {FEATURE} which are not available on node "n"'
        )
        await server.merge("/api/v1/nodes/n/status", {"status": {"declaredFeatures": [FEATURE]}})
        assert (await resize(server, "2")).code == 200


async def test_unscheduled_pod_can_be_updated():
    async with validated() as server:
        await make(server)
        assert (await resize(server, "2")).code == 200


async def test_label_update_requires_no_features():
    async with validated() as server:
        await make(server, nodeName="n")
        assert (await server.merge(f"{PODS}/a", {"metadata": {"labels": {"a": "b"}}})).code == 200


@pytest.mark.parametrize("quality", ["Guaranteed", "Burstable"])
def test_container_resize_requires_no_features(quality):
    def pod(cpu):
        return {
            "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]},
            "status": {"qosClass": quality},
        }

    assert list(needed_features(pod("2"), pod("1"))) == []


def test_pod_level_resize_requires_a_feature():
    old = {"spec": {"containers": [], "resources": {"requests": {"cpu": "1"}}}, "status": {}}
    new = {"spec": {"containers": [], "resources": {"requests": {"cpu": "2"}}}, "status": {}}
    assert list(needed_features(new, old)) == [FEATURE]


@pytest.mark.parametrize(("policy", "needed"), [(None, ["InPlacePodVerticalScalingInitContainers"]), ("Always", [])])
def test_init_container_resize_requires_a_feature(policy, needed):
    def pod(cpu):
        init = {"name": "i", "restartPolicy": policy, "resources": {"requests": {"cpu": cpu}}}
        return {"spec": {"containers": [], "initContainers": [init]}, "status": {}}

    assert list(needed_features(pod("2"), pod("1"))) == needed
