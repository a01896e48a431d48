"""Slow starts, late or failing readiness, hanging applications."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.nodes.simulation.simulated import Simulation, pod

PROBE: dict[str, Any] = {"httpGet": {"port": 80}, "periodSeconds": 5, "failureThreshold": 3}


def test_pod_becomes_ready_late() -> None:
    world = Simulation(pod(annotations={"ready-after-seconds": "20"}, container={"readinessProbe": PROBE}))
    assert world.run(60) == [(0.0, "Running", "Running"), (20.0, "Running", "Ready")]
    assert world.events == [("Warning", "Unhealthy", "Readiness probe failed: simulated failure")]
    assert world.status_of()["started"] is True
    assert world.conditions()["Ready"] == "True"


@pytest.mark.parametrize(
    ("notes", "times"),
    [({"unready-after-seconds": "0"}, [0]), ({"unready-after-seconds": "30", "unready-seconds": "15"}, [0, 30, 45])],
)
def test_pod_becomes_unready_and_ready_again(notes: dict[str, str], times: list[float]) -> None:
    assert [at for at, *_ in Simulation(pod(annotations=notes)).run(3600)] == times


def test_slow_start_passes_the_startup_probe_at_its_next_check() -> None:
    world = Simulation(pod(annotations={"start-seconds": "7"}, container={"startupProbe": PROBE}))
    assert world.run(0) == [(0.0, "Running", "Running")]
    assert world.status_of()["started"] is False
    assert world.run(60) == [(10.0, "Running", "Ready")]
    assert world.status_of()["started"] is True


def test_too_slow_start_is_killed_by_the_startup_probe() -> None:
    world = Simulation(pod(annotations={"start-seconds": "60"}, container={"startupProbe": PROBE}))
    assert world.run(22) == [
        (0.0, "Running", "Running"),
        (10.0, "Running", "Error"),
        (10.0, "Running", "Running"),
        (20.0, "Running", "Error"),
        (20.0, "Running", "CrashLoopBackOff"),
    ]
    assert world.events[:2] == [
        ("Warning", "Unhealthy", "Startup probe failed: simulated failure"),
        ("Normal", "Killing", "Container c failed startup probe, will be restarted"),
    ]


def test_slow_start_without_startup_probe_is_killed_by_the_liveness_probe() -> None:
    world = Simulation(pod(annotations={"start-seconds": "60"}, container={"livenessProbe": PROBE}))
    assert [(at, state) for at, _, state in world.run(10)] == [(0, "Running"), (10, "Error"), (10, "Running")]


def test_hanging_application_is_restarted_by_the_liveness_probe() -> None:
    world = Simulation(pod(annotations={"hang-after-seconds": "21"}, container={"livenessProbe": PROBE}))
    assert world.run(35) == [
        (0.0, "Running", "Ready"),
        (21.0, "Running", "Running"),
        (35.0, "Running", "Error"),
        (35.0, "Running", "Ready"),
    ]
    last = world.status_of()["lastState"]["terminated"]
    assert (last["exitCode"], last["reason"]) == (137, "Error")
    assert world.events[-1] == ("Normal", "Killing", "Container c failed liveness probe, will be restarted")


def test_hanging_application_without_probe_is_not_restarted() -> None:
    world = Simulation(pod(annotations={"hang-after-seconds": "21"}))
    assert world.run(3600) == [(0.0, "Running", "Ready"), (21.0, "Running", "Running")]
