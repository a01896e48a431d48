"""Log of scheduling attempts, with a real scheduler over a server in this process."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from tests.unit.scheduler.test_running import started

from steersman.asynckit.structured_logging import V2, fields_of

BOUND = "Successfully bound pod to node"
WAITING = "Unable to schedule pod; no fit; waiting"


def logged(caplog: pytest.LogCaptureFixture, message: str) -> list[Any]:
    return [fields_of(record) for record in caplog.records if record.getMessage() == message]


async def test_decision_log_has_each_attempt_with_its_cause(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(V2)
    async with started() as running:
        await running.pod("p")
        await running.until(lambda: logged(caplog, WAITING))
        await running.node("n")
        await running.until(lambda: logged(caplog, BOUND))
    first, last = logged(caplog, WAITING)[0], logged(caplog, BOUND)[0]
    assert first == {
        "controller": "scheduler",
        "profile": "default-scheduler",
        "pod": "default/p",
        "cause": "UnschedulablePodAdd",
        "attempt": 1,
        "err": "no nodes available to schedule pods",
        "duration": "0s",
    }
    # The node is added with a taint, whose removal helps the pod.
    assert (last["pod"], last["node"], last["cause"]) == ("default/p", "n", "NodeUpdate")
    assert last["attempt"] > 1


async def test_decision_log_names_the_victims_of_a_preemption(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(V2)
    async with started() as running:
        await running.node("n", cpu="1")
        high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 9}
        await running.client.create(high)
        await running.pod("low")
        await running.until(lambda: running.node_of("low"))
        await running.pod("high", priorityClassName="high")
        await running.until(lambda: logged(caplog, WAITING))
    (line, *_) = logged(caplog, WAITING)
    assert (line["nominatedNode"], line["victims"]) == ("n", ["default/low"])


async def test_decision_log_is_silent_below_its_verbosity(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with started() as running:
        await running.node("n")
        await running.pod("p")
        await running.until(lambda: running.node_of("p"))
        await running.clock.advance(1)
    assert logged(caplog, BOUND) == []
