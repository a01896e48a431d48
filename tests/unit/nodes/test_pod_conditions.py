"""Conditions of pods with sidecars and init containers."""

from __future__ import annotations

import pytest
from tests.unit.nodes.simulation.simulated import NOW, Simulation, pod

from steersman.apimachinery.trees import Tree
from steersman.nodes.pod_conditions import container_conditions, waiting
from steersman.nodes.stages import StageContext

SIDECAR: Tree = {"name": "s", "image": "i", "restartPolicy": "Always"}
PROBED: Tree = {**SIDECAR, "readinessProbe": {"exec": {"command": ["true"]}}}


def reported(world: Simulation) -> dict[str, tuple[str, str]]:
    """Return status and message of each condition."""
    return {
        condition["type"]: (condition["status"], condition.get("message") or "")
        for condition in world.pod["status"]["conditions"]
    }


def test_pod_is_not_ready_while_a_sidecar_is_not() -> None:
    world = Simulation(pod(annotations={"ready-after-seconds.s": "5"}, initContainers=[PROBED]))
    world.run(4)
    unready = ("False", "containers with unready status: [s]")
    assert (reported(world)["Ready"], reported(world)["ContainersReady"]) == (unready, unready)
    world.run(5)
    assert (reported(world)["Ready"], reported(world)["ContainersReady"]) == (("True", ""), ("True", ""))


def test_pod_stays_initialized_while_a_sidecar_restarts() -> None:
    world = Simulation(pod(annotations={"crash-after-seconds.s": "0"}, initContainers=[SIDECAR]))
    world.run(1)
    assert world.pod["status"]["initContainerStatuses"][0]["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert reported(world)["Initialized"] == ("True", "")
    assert reported(world)["Ready"] == ("False", "containers with unready status: [s]")


def test_sidecars_precede_containers_in_the_message_of_a_pod_that_initializes() -> None:
    init = {"name": "i", "image": "i", "command": ["sleep", "5"]}
    world = Simulation(pod(initContainers=[init, SIDECAR]))
    world.run(1)
    assert reported(world)["Initialized"] == ("False", "containers with incomplete status: [i s]")
    assert reported(world)["ContainersReady"] == ("False", "containers with unready status: [s c]")


@pytest.mark.parametrize(
    ("phase", "initialized", "ready"),
    [
        ("Succeeded", (True, "PodCompleted"), "PodCompleted"),
        ("Failed", (False, "ContainersNotInitialized"), "PodFailed"),
    ],
)
def test_conditions_of_finished_pods_name_the_phase(phase: str, initialized: tuple[bool, str], ready: str) -> None:
    by_type = {kind: (holds, reason) for kind, holds, reason, _ in container_conditions(
        pod(initContainers=[{"name": "i"}]), {}, phase
    )}  # fmt: skip
    assert by_type == {
        "PodReadyToStartContainers": (False, ""),
        "Initialized": initialized,
        "Ready": (False, ready),
        "ContainersReady": (False, ready),
        "PodScheduled": (True, ""),
    }


def test_message_of_a_readiness_gate_has_its_status_without_quotes() -> None:
    gated = pod(readinessGates=[{"conditionType": "a/b"}])
    gated["status"]["conditions"] = [{"type": "a/b", "status": "Unknown"}]
    ready = container_conditions(gated, {"c": {"ready": True}}, "Running")[2]
    assert ready[3] == 'the status of pod readiness gate "a/b" is not "True", but Unknown'


def test_waiting_pod_has_no_address_of_its_own() -> None:
    status = waiting(pod(), StageContext(NOW, "172.16.0.1", "10.1.0.7"), {"reason": "ContainerCreating"})
    assert (status["hostIP"], "podIP" in status, "initContainerStatuses" in status) == ("172.16.0.1", False, False)


def test_pod_that_was_bound_by_its_creator_is_scheduled() -> None:
    world = Simulation(pod())
    world.run(1)
    scheduled = world.pod["status"]["conditions"][-1]
    assert (scheduled["type"], scheduled["status"], scheduled["observedGeneration"]) == ("PodScheduled", "True", 1)


def test_restart_of_all_containers_is_a_condition_of_pods_with_such_a_rule() -> None:
    rule = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [3]}}
    restarted = pod(container={"restartPolicyRules": [rule]})
    statuses: dict[str, Tree] = {"c": {"state": {"running": {}}}}
    restarting_statuses: dict[str, Tree] = {"c": {"state": {"waiting": {"reason": "RestartingAllContainers"}}}}

    def restarting(current: dict[str, Tree], phase: str) -> tuple[bool, str]:
        kind, holds, reason, _ = container_conditions(restarted, current, phase)[-1]
        assert kind == "AllContainersRestarting"
        return holds, reason

    assert restarting(statuses, "Running") == (False, "")
    assert restarting(restarting_statuses, "Running") == (True, "RestartAllContainersStarted")
    assert restarting(statuses, "Failed") == (False, "PodFailed")


def test_condition_of_the_restart_of_all_containers_names_no_generation() -> None:
    rule = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [3]}}
    world = Simulation(pod(container={"restartPolicyRules": [rule]}))
    world.run(1)
    assert "observedGeneration" not in world.pod["status"]["conditions"][-1]
