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


async def test_a_pod_gets_the_overhead_and_the_placement_of_its_runtime():
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


async def test_the_class_must_exist():
    async with running() as server:
        assert refusal(await server.pod(runtimeClassName="r")) == 'pod rejected: RuntimeClass "r" not found'


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ({"overhead": {"cpu": "1"}}, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"),
        (
            {"nodeSelector": {"r": "no"}},
            "conflict: runtimeClass.scheduling.nodeSelector[r] = yes; pod.spec.nodeSelector[r] = no",
        ),
    ],
)
async def test_what_contradicts_it_is_refused(said, text):
    async with running() as server:
        await add(server, overhead={"podFixed": OVERHEAD}, scheduling={"nodeSelector": {"r": "yes"}})
        assert refusal(await server.pod(runtimeClassName="r", **said)) == text


async def test_overhead_comes_from_classes_only():
    async with running() as server:
        await add(server)
        for said in ({"overhead": OVERHEAD}, {"overhead": OVERHEAD, "runtimeClassName": "r"}):
            assert refusal(await server.pod(**said)) == (
                "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
            )


async def test_the_same_overhead_in_other_words_is_the_same():
    async with running() as server:
        await add(server, overhead={"podFixed": OVERHEAD})
        said = {"cpu": "0.1", "memory": "65536Ki"}
        assert (await server.pod(runtimeClassName="r", overhead=said)).code == 201
