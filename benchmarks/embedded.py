"""Seconds of a day of virtual time in an embedded cluster, and of a simulated minute with 100 pods.

``python -m benchmarks.embedded``; exit code 1 when a target is missed. The figures are CPU time of this process.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Final

from benchmarks.rates import Report
from steersman.testing.embedded import EmbeddedCluster
from steersman.testing.simulation import Simulation, run_in_new_loop

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

CRONJOBS: Final = 10
PODS: Final = 100
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
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": spec,
    }


async def _timed(work: Callable[[], Awaitable[object]]) -> float:
    started = time.process_time()
    await work()
    return time.process_time() - started


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
    for name, measure, limit in (
        (f"24 hours with {CRONJOBS} CronJobs by the hour", _day, DAY_SECONDS_MAX),
        (f"simulated minute in which {PODS} pods start", _minute, MINUTE_SECONDS_MAX),
    ):
        seconds = run_in_new_loop(measure())
        report.line(name, f"{seconds:6.3f} s (≤ {limit:g} s)", is_met=seconds <= limit)
    return 0 if report.is_met else 1


if __name__ == "__main__":
    sys.exit(main())
