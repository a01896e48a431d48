from __future__ import annotations

import pytest
from tests.unit.apiserver.admission.plugged import Plugged, refusal

from steersman.apiserver.admission.runtime_class import RuntimeClass

CLASSES = "/apis/node.k8s.io/v1/runtimeclasses"
OVERHEAD = {"cpu": "100m", "memory": "64Mi"}


def running():
    return Plugged(lambda stored: RuntimeClass(stored("runtimeclasses.node.k8s.io").cache))


async def add(server, **parts):
    await server.make(CLASSES, metadata={"name": "r"}, handler="h", **parts)


async def test_overhead_and_scheduling_of_the_class_are_applied():
    async with running() as server:
        toleration = {"key": "t", "operator": "Exists"}
        await add(
            server,
            overhead={"podFixed": OVERHEAD},
            scheduling={"nodeSelector": {"r": "yes"}, "tolerations": [toleration]},
        )
        spec = (await server.pod(runtimeClassName="r", nodeSelector={"mine": "x"})).body["spec"]
        assert spec["overhead"] == OVERHEAD
        assert spec["nodeSelector"] == {"mine": "x", "r": "yes"}
        assert spec["tolerations"] == [toleration]


async def test_missing_class_is_rejected():
    async with running() as server:
        assert refusal(await server.pod(runtimeClassName="r")) == 'pod rejected: RuntimeClass "r" not found'


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"overhead": {"cpu": "1"}}, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"),
        (
            {"nodeSelector": {"r": "no"}},
            "conflict: runtimeClass.scheduling.nodeSelector[r] = yes; pod.spec.nodeSelector[r] = no",
        ),
    ],
)
async def test_conflicting_overhead_or_selector_is_rejected(fields, text):
    async with running() as server:
        await add(server, overhead={"podFixed": OVERHEAD}, scheduling={"nodeSelector": {"r": "yes"}})
        assert refusal(await server.pod(runtimeClassName="r", **fields)) == text


async def test_overhead_without_a_class_is_rejected():
    async with running() as server:
        await add(server)
        for fields in ({"overhead": OVERHEAD}, {"overhead": OVERHEAD, "runtimeClassName": "r"}):
            assert refusal(await server.pod(**fields)) == (
                "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
            )


async def test_equal_overhead_in_other_units_is_allowed():
    async with running() as server:
        await add(server, overhead={"podFixed": OVERHEAD})
        fields = {"cpu": "0.1", "memory": "65536Ki"}
        assert (await server.pod(runtimeClassName="r", overhead=fields)).code == 201
