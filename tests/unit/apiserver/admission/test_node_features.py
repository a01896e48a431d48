from __future__ import annotations

import pytest
from tests.unit.apiserver.admission.plugged import Plugged, refusal
from tests.unit.apiserver.writing import PODS, STRATEGIC_PATCH

from steersman.apiserver.admission.node_features import NodeDeclaredFeatureValidator, needed_features

FEATURE = "GuaranteedQoSPodCPUResize"


def validated():
    return Plugged(lambda stored: NodeDeclaredFeatureValidator(stored("nodes").cache))


async def resize(server, cpu):
    resources = {"limits": {"cpu": cpu, "memory": "1Mi"}, "requests": {"cpu": cpu, "memory": "1Mi"}}
    change = {"spec": {"containers": [{"name": "c", "resources": resources}]}}
    return await server.call("PATCH", f"{PODS}/a/resize", change, media_type=STRATEGIC_PATCH)


async def guaranteed(server, **spec):
    resources = {"limits": {"cpu": "1", "memory": "1Mi"}}
    await server.pod(containers=[{"name": "c", "image": "i", "resources": resources}], **spec)


async def test_a_node_must_declare_what_a_change_needs():
    async with validated() as server:
        await guaranteed(server, nodeName="n")
        assert refusal(await resize(server, "2")) == 'node "n" not found'
        await server.make("/api/v1/nodes", metadata={"name": "n"})
        assert refusal(await resize(server, "2")) == (
            f'pod update requires features {FEATURE} which are not available on node "n"'
        )
        await server.merge("/api/v1/nodes/n/status", {"status": {"declaredFeatures": [FEATURE]}})
        assert (await resize(server, "2")).code == 200


async def test_a_pod_without_a_node_may_change():
    async with validated() as server:
        await guaranteed(server)
        assert (await resize(server, "2")).code == 200


async def test_labels_need_nothing():
    async with validated() as server:
        await guaranteed(server, nodeName="n")
        assert (await server.merge(f"{PODS}/a", {"metadata": {"labels": {"a": "b"}}})).code == 200


@pytest.mark.parametrize(
    ("quality", "before", "now", "needed"),
    [
        ("Guaranteed", "1", "2", [FEATURE]),
        ("Guaranteed", "1", "1000m", []),
        ("Burstable", "1", "2", []),
    ],
)
def test_what_is_needed(quality, before, now, needed):
    def pod(cpu):
        return {
            "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]},
            "status": {"qosClass": quality},
        }

    assert list(needed_features(pod(now), pod(before))) == needed


def test_resources_of_the_pod_as_a_whole_are_a_feature():
    old = {"spec": {"containers": [], "resources": {"requests": {"cpu": "1"}}}, "status": {}}
    new = {"spec": {"containers": [], "resources": {"requests": {"cpu": "2"}}}, "status": {}}
    assert list(needed_features(new, old)) == ["InPlacePodLevelResourcesVerticalScaling"]


@pytest.mark.parametrize(("policy", "needed"), [(None, ["InPlacePodVerticalScalingInitContainers"]), ("Always", [])])
def test_so_are_those_of_init_containers_that_end(policy, needed):
    def pod(cpu):
        init = {"name": "i", "restartPolicy": policy, "resources": {"requests": {"cpu": cpu}}}
        return {"spec": {"containers": [], "initContainers": [init]}, "status": {}}

    assert list(needed_features(pod("2"), pod("1"))) == needed
