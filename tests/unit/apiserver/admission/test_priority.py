from __future__ import annotations

import pytest
from tests.unit.apiserver.admission.plugged import Plugged, refusal
from tests.unit.apiserver.writing import PODS

from steersman.apiserver.admission.priority import Priority

COMPUTED = "priority admission controller computed {} from the given PriorityClass name"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


def prioritized():
    return Plugged(lambda stored: Priority(stored("priorityclasses.scheduling.k8s.io").cache))


async def test_priority_is_resolved_from_the_class():
    async with prioritized() as server:
        await server.make(CLASSES, metadata={"name": "high"}, value=100, preemptionPolicy="Never")
        spec = (await server.pod(priorityClassName="high")).body["spec"]
        assert (spec["priority"], spec["preemptionPolicy"]) == (100, "Never")


async def test_priority_is_zero_without_a_class():
    async with prioritized() as server:
        spec = (await server.pod()).body["spec"]
        assert (spec["priority"], spec["preemptionPolicy"]) == (0, "PreemptLowerPriority")
        assert "priorityClassName" not in spec


async def test_lowest_default_class_applies():
    async with prioritized() as server:
        await server.make(CLASSES, metadata={"name": "d"}, value=7, globalDefault=True)
        spec = (await server.pod()).body["spec"]
        assert (spec["priorityClassName"], spec["priority"]) == ("d", 7)
        assert (await server.call("DELETE", f"{CLASSES}/d")).code == 200
        await server.make(CLASSES, metadata={"name": "e"}, value=8, globalDefault=True)
        spec = (await server.pod("b")).body["spec"]
        assert (spec["priorityClassName"], spec["priority"]) == ("e", 8)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"priorityClassName": "none"}, "no PriorityClass with name none was found"),
        (
            {"priority": 5},
            "the integer value of priority (5) must not be provided in pod spec; " + COMPUTED.format(0),
        ),
        (
            {"preemptionPolicy": "Never"},
            "the string value of PreemptionPolicy (Never) must not be provided in pod spec; "
            + COMPUTED.format("PreemptLowerPriority"),
        ),
    ],
)
async def test_conflicting_priority_is_rejected(fields, text):
    async with prioritized() as server:
        assert refusal(await server.pod(**fields)) == text


async def test_explicit_equal_priority_is_allowed():
    async with prioritized() as server:
        assert (await server.pod(priority=0, preemptionPolicy="PreemptLowerPriority")).code == 201


async def test_update_keeps_priority():
    async with prioritized() as server:
        pod = (await server.pod()).body
        del pod["spec"]["priority"], pod["spec"]["preemptionPolicy"]
        answer = await server.call("PUT", f"{PODS}/a", pod)
        assert (answer.code, answer.body["spec"]["priority"]) == (200, 0)


async def test_second_default_class_is_rejected():
    async with prioritized() as server:
        await server.make(CLASSES, metadata={"name": "d"}, value=7, globalDefault=True)
        another = {"metadata": {"name": "e"}, "value": 8, "globalDefault": True}
        answer = await server.call("POST", CLASSES, another)
        assert refusal(answer) == "PriorityClass d is already marked as default. Only one default can exist"
        await server.make(CLASSES, metadata={"name": "e"}, value=8)
        assert (await server.merge(f"{CLASSES}/e", {"globalDefault": True})).code == 403
        assert (await server.merge(f"{CLASSES}/d", {"description": "x"})).code == 200
