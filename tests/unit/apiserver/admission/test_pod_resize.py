from __future__ import annotations

import pytest
from tests.unit.apiserver.admission.plugged import Plugged, refusal
from tests.unit.apiserver.writing import PODS, STRATEGIC_PATCH

from steersman.apiserver.admission.pod_resize import PodResizeValidator


def validated():
    return Plugged(lambda stored: PodResizeValidator(stored("nodes").cache))


async def burstable(server, **spec):
    resources = {"requests": {"cpu": "100m", "memory": "1Mi"}}
    await server.pod(containers=[{"name": "c", "image": "i", "resources": resources}], **spec)


async def resize(server, **requests):
    change = {"spec": {"containers": [{"name": "c", "resources": {"requests": requests}}]}}
    return await server.call("PATCH", f"{PODS}/a/resize", change, media_type=STRATEGIC_PATCH)


async def node(server, system="linux", **capacity):
    metadata = {"name": "n", "labels": {"kubernetes.io/os": system}}
    await server.make(
        "/api/v1/nodes", metadata=metadata, status={"capacity": {"cpu": "1", "memory": "1Gi", **capacity}}
    )


async def test_resize_requires_an_existing_node():
    async with validated() as server:
        await burstable(server, nodeName="n")
        assert refusal(await resize(server, cpu="200m")) == 'node "n" not found'
        await node(server)
        assert (await resize(server, cpu="200m")).code == 200


@pytest.mark.parametrize(
    ("requests", "text"),
    [
        ({"cpu": "2"}, "cpu, requested: 2000, allocatable: 1000"),
        ({"memory": "2Gi"}, "memory, requested: 2147483648, allocatable: 1073741824"),
        (
            {"cpu": "2", "memory": "2Gi"},
            "cpu, requested: 2000, allocatable: 1000; memory, requested: 2147483648, allocatable: 1073741824",
        ),
    ],
)
async def test_resize_beyond_allocatable_resources_is_rejected(requests, text):
    async with validated() as server:
        await node(server)
        await burstable(server, nodeName="n")
        assert refusal(await resize(server, **requests)) == f"Node didn't have enough allocatable resources: {text}"


async def test_resize_requires_a_linux_node():
    async with validated() as server:
        await node(server, system="windows")
        await burstable(server, nodeName="n")
        assert refusal(await resize(server, cpu="200m")) == (
            'pod resize is only supported on linux nodes, node "n" is "windows"'
        )


async def test_unscheduled_pod_can_be_resized():
    async with validated() as server:
        await burstable(server)
        assert (await resize(server, cpu="200")).code == 200


async def test_resize_without_changes_is_allowed():
    async with validated() as server:
        await burstable(server, nodeName="n")
        assert (await resize(server, cpu="100m")).code == 200
