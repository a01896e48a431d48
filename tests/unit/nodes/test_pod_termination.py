"""Final status of pods whose containers are stopped."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.unit.nodes.simulation.simulated import NOW, Simulation, pod

from steersman.apimachinery.trees import Tree
from steersman.nodes.pod_termination import finished, stop_time
from steersman.nodes.stages import StageContext

CONTEXT = StageContext(NOW, "172.16.0.1", "10.1.0.7")
UNKNOWN = {
    "exitCode": 137,
    "reason": "ContainerStatusUnknown",
    "message": "The container could not be located when the pod was terminated",
}
ABSENT = "registry.invalid/app"


def container(name: str, **spec: Any) -> Tree:
    return {"name": name, "image": "i", **spec}


def stopped(obj: Tree, *, seconds: float = 1) -> Tree:
    """Return the status of a pod that is deleted after so many seconds."""
    world = Simulation(obj)
    world.run(seconds)
    return finished(world.pod, CONTEXT, exit_code=143)


def codes(status: Tree, field: str = "containerStatuses") -> list[Any]:
    """Return each container's exit code, or else the reason for which it waits."""
    states = [container_status["state"] for container_status in status[field]]
    return [
        state["terminated"]["exitCode"] if "terminated" in state else state["waiting"]["reason"] for state in states
    ]


def test_running_containers_exit_with_the_code_and_sidecars_with_0() -> None:
    status = stopped(pod(initContainers=[container("i"), container("s", restartPolicy="Always")]))
    assert (status["phase"], codes(status), codes(status, "initContainerStatuses")) == ("Failed", [143], [0, 0])


def test_container_that_never_ran_has_an_unknown_status() -> None:
    status = stopped(pod(container={"image": ABSENT}))
    (container_status,) = status["containerStatuses"]
    assert (status["phase"], container_status["state"]["terminated"]) == ("Failed", UNKNOWN)
    assert "containerID" not in container_status
    assert status["podIP"] == "10.1.0.7"


def test_pod_that_was_never_started_has_no_address() -> None:
    status = finished(pod(), CONTEXT, exit_code=143)
    assert (status["phase"], codes(status), "podIP" in status) == ("Failed", [137], False)


@pytest.mark.parametrize(("code", "phase"), [(3, "Failed"), (0, "Succeeded")])
def test_container_between_two_runs_keeps_the_exit_code_of_its_last_run(code: int, phase: str) -> None:
    status = stopped(pod(container={"command": ["sh", "-c", f"exit {code}"]}))
    (container_status,) = status["containerStatuses"]
    assert (status["phase"], codes(status), container_status["lastState"]) == (phase, [code], {})
    assert container_status["restartCount"] == 1


def test_containers_behind_a_running_init_container_were_not_created() -> None:
    inits = [container("i"), container("j", command=["sleep", "9"]), container("k")]
    status = stopped(pod(initContainers=inits))
    waiting = "PodInitializing"
    assert (codes(status), codes(status, "initContainerStatuses")) == ([waiting], [0, 143, waiting])
    initialized = next(condition for condition in status["conditions"] if condition["type"] == "Initialized")
    assert (initialized["status"], initialized["message"]) == ("False", "containers with incomplete status: [j k]")


def test_first_init_container_that_never_ran_has_an_unknown_status() -> None:
    status = stopped(pod(initContainers=[container("i", image=ABSENT), container("j")]))
    assert (codes(status), codes(status, "initContainerStatuses")) == (["PodInitializing"], [137, "PodInitializing"])


def test_container_of_an_initialized_pod_that_never_ran_has_an_unknown_status() -> None:
    status = stopped(pod(initContainers=[container("i")], container={"image": ABSENT}))
    assert (codes(status), codes(status, "initContainerStatuses")) == ([137], [0])


def test_reason_makes_a_pod_fail_whose_containers_have_succeeded() -> None:
    world = Simulation(pod(container={"command": ["true"]}))
    world.run(1)
    status = finished(world.pod, CONTEXT, exit_code=137, reason="Evicted", message="m")
    assert (status["phase"], status["reason"], status["message"], codes(status)) == ("Failed", "Evicted", "m", [0])


_DELETED_AT = datetime(2026, 1, 2, 3, 5, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("hook", "delay"),
    [
        ({"sleep": {"seconds": 5}}, 5),
        ({"sleep": {"seconds": 90}}, 30),
        ({"exec": {"command": ["sh", "-c", "sleep 2; sleep 1"]}}, 3),
        ({"exec": {"command": ["nginx", "-s", "quit"]}}, None),
        ({"httpGet": {"port": 80}}, None),
    ],
)
def test_pre_stop_hook_delays_the_stop_at_most_for_the_grace_period(hook: Tree, delay: int | None) -> None:
    world = Simulation(pod(container={"lifecycle": {"preStop": hook}}))
    world.run(1)
    ends_at = (_DELETED_AT + timedelta(seconds=30)).strftime("%Y-%m-%dT%H:%M:%SZ")
    world.pod["metadata"] |= {"deletionTimestamp": ends_at, "deletionGracePeriodSeconds": 30}
    expected = None if delay is None else _DELETED_AT + timedelta(seconds=delay)
    assert stop_time(world.pod) == expected


def test_pre_stop_hook_of_a_container_that_does_not_run_delays_nothing() -> None:
    new_pod = pod(container={"image": ABSENT, "lifecycle": {"preStop": {"sleep": {"seconds": 5}}}})
    world = Simulation(new_pod)
    world.run(1)
    world.pod["metadata"] |= {"deletionTimestamp": "2026-01-02T03:05:00Z", "deletionGracePeriodSeconds": 30}
    assert stop_time(world.pod) is None
