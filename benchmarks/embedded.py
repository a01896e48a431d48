"""Seconds of embedded clusters: start, rewind, a day of virtual time, and a simulated minute with 100 pods.

``python -m benchmarks.embedded``; exit code 1 when a target is missed. The figures are CPU time of this process.
"""

from __future__ import annotations

import statistics
import sys
import time
from typing import TYPE_CHECKING, Any, Final

from benchmarks.rates import Report
from steersman.testing.embedded import EmbeddedCluster
from steersman.testing.simulation import Simulation, run_in_new_loop

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

ROUNDS: Final = 5
CRONJOBS: Final = 10
PODS: Final = 100
START_SECONDS_MAX: Final = 0.15
REWIND_SECONDS_MAX: Final = 0.03
DAY_SECONDS_MAX: Final = 2.0
MINUTE_SECONDS_MAX: Final = 0.5


def _pod_template(**annotations: str) -> dict[str, Any]:
    containers = [{"name": "c", "image": "i"}]
    return {"metadata": {"labels": {"app": "a"}, "annotations": annotations}, "spec": {"containers": containers}}


def _cron_job(number: int) -> dict[str, Any]:
    template = _pod_template(**{"nodes.steersman.dev/run-seconds": "5"})
    template["spec"]["restartPolicy"] = "Never"
    spec = {"schedule": "0 * * * *", "jobTemplate": {"spec": {"template": template}}}
    metadata = {"name": f"hourly-{number}", "namespace": "default"}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": metadata, "spec": spec}


def _deployment(replicas: int) -> dict[str, Any]:
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "a"}}, "template": _pod_template()}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "namespace": "default"}, "spec": spec}


async def _timed(work: Callable[[], Awaitable[object]]) -> float:
    started = time.process_time()
    await work()
    return time.process_time() - started


async def _start() -> float:
    cluster = EmbeddedCluster(clock="virtual", seed=1)
    seconds = await _timed(cluster.start)
    await cluster.stop()
    return seconds


async def _rewind() -> float:
    async with EmbeddedCluster(clock="virtual", seed=1) as cluster:
        snapshot = cluster.snapshot()
        return await _timed(lambda: cluster.rewind(snapshot))


async def _day() -> float:
    async with EmbeddedCluster(clock="virtual", seed=1) as cluster:
        for number in range(CRONJOBS):
            await cluster.client().create(_cron_job(number))
        return await _timed(lambda: cluster.clock.advance(hours=24))


async def _minute() -> float:
    simulation = Simulation(1)
    await simulation.start()
    await simulation.client().create(_deployment(PODS))
    seconds = await _timed(lambda: simulation.clock.advance(minutes=1))
    await simulation.stop()
    return seconds


def main() -> int:
    """Measure and print; return the exit code."""
    report = Report()
    for name, measure, limit, rounds in (
        ("start of an embedded cluster with a Ready node", _start, START_SECONDS_MAX, ROUNDS),
        ("rewind", _rewind, REWIND_SECONDS_MAX, ROUNDS),
        (f"24 hours with {CRONJOBS} CronJobs by the hour", _day, DAY_SECONDS_MAX, 1),
        (f"simulated minute in which {PODS} pods start", _minute, MINUTE_SECONDS_MAX, 1),
    ):
        seconds = statistics.median(run_in_new_loop(measure()) for _ in range(rounds))
        report.line(name, f"{seconds:6.3f} s (≤ {limit:g} s)", met=seconds <= limit)
    return 0 if report.met else 1


if __name__ == "__main__":
    sys.exit(main())
