"""The test kit: time to start clusters of a test, to fork them from a template, to rewind, to pass a day, and to run tests.

``python -m benchmarks.testkit [--rounds N]``. CPU time is that of the cluster's process until it is ready, which a busy
machine does not change; wall time is what a test waits. Exit code 1 when a median of the CPU time misses its target.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from steersman.testing import Cluster, Snapshot

BARE: dict[str, Any] = {"nodes": 0, "controllers": [], "scheduler": False}
TEMPLATE_OBJECTS = 200
SUITE_TESTS = 100
CRON_JOBS = 10
_SUITE = """\
import pytest

@pytest.mark.parametrize("number", range({count}))
def test_cluster(cluster, number):
    cluster.apply("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: a, namespace: default}}}}")
"""


def started(snapshot: Snapshot | None = None, **options: Any) -> tuple[float, float]:
    """Return wall and CPU milliseconds of a start."""
    started_at = time.perf_counter()
    with Cluster(snapshot=snapshot, **options) as cluster:
        wall = time.perf_counter() - started_at
        return 1000 * wall, 1000 * cluster.cpu_seconds


def config_maps(count: int) -> list[dict[str, Any]]:
    return [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"map-{number}", "namespace": "default"}}
        for number in range(count)
    ]


def report(name: str, measure: Callable[[], tuple[float, float]], *, rounds: int, target: float) -> tuple[bool, float]:
    """Print medians; return whether the CPU time is within the target, and its median."""
    samples = [measure() for _ in range(rounds)]
    wall, cpu = (statistics.median(sample[part] for sample in samples) for part in (0, 1))
    is_met = cpu <= target
    print(f"{name:42} wall {wall:7.1f} ms  CPU {cpu:7.1f} ms (≤ {target:g})  {'ok' if is_met else 'MISSED'}")
    return is_met, cpu


def rewound(cluster: Cluster, snapshot: Snapshot) -> tuple[float, float]:
    cluster.apply(config_maps(1))
    cluster.settle()
    cpu, started_at = cluster.cpu_seconds, time.perf_counter()
    cluster.rewind(snapshot)
    return 1000 * (time.perf_counter() - started_at), 1000 * (cluster.cpu_seconds - cpu)


def cron_jobs(count: int) -> list[dict[str, Any]]:
    """Return CronJobs that run each hour."""
    pod = {"restartPolicy": "Never", "containers": [{"name": "report", "image": "busybox"}]}
    spec = {"schedule": "0 * * * *", "jobTemplate": {"spec": {"template": {"spec": pod}}}}
    return [
        {
            "apiVersion": "batch/v1",
            "kind": "CronJob",
            "metadata": {"name": f"report-{number}", "namespace": "default"},
            "spec": spec,
        }
        for number in range(count)
    ]


def passed_day(objects: list[dict[str, Any]]) -> tuple[float, float]:
    """Return wall and CPU milliseconds of a virtual day."""
    with Cluster(clock="virtual") as cluster:
        if objects:
            cluster.apply(objects)
        cluster.settle()
        cpu, started_at = cluster.cpu_seconds, time.perf_counter()
        cluster.clock.advance(hours=24)
        return 1000 * (time.perf_counter() - started_at), 1000 * (cluster.cpu_seconds - cpu)


def measure_suite() -> bool:
    """Run tests with a cluster each, on two workers."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_suite.py").write_text(_SUITE.format(count=SUITE_TESTS))
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", "-W", "ignore"]
        started_at = time.perf_counter()
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - started_at
    is_met = done.returncode == 0 and seconds <= 20
    print(f"{SUITE_TESTS} tests, two workers{'':21} wall {seconds:7.1f} s (≤ 20)  {'ok' if is_met else 'MISSED'}")
    return is_met


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--without-suite", action="store_true")
    arguments = parser.parse_args()
    rounds = arguments.rounds
    started_at = time.perf_counter()
    Cluster(**BARE).stop()
    print(f"{'first cluster: import and rehearsal':42} wall {1000 * (time.perf_counter() - started_at):7.1f} ms")
    targets_met = [report("API server alone", lambda: started(**BARE), rounds=rounds, target=40)[0]]
    is_met, whole = report("whole, with a Ready node", started, rounds=rounds, target=150)
    targets_met.append(is_met)
    with Cluster() as template:
        template.apply(config_maps(TEMPLATE_OBJECTS))
        template.settle()
        snapshot = template.snapshot()
        is_met, forked = report(
            f"fork of a template, {TEMPLATE_OBJECTS} objects",
            lambda: started(snapshot),
            rounds=rounds,
            target=whole + 60,
        )
        targets_met += [is_met, report("rewind", lambda: rewound(template, snapshot), rounds=rounds, target=30)[0]]
    day_rounds = min(rounds, 3)
    targets_met.append(report("a day, idle", lambda: passed_day([]), rounds=day_rounds, target=2000)[0])
    day = report(
        f"a day, {CRON_JOBS} CronJobs", lambda: passed_day(cron_jobs(CRON_JOBS)), rounds=day_rounds, target=2000
    )
    targets_met.append(day[0])
    if not arguments.without_suite:
        targets_met.append(measure_suite())
    print(json.dumps({"fork_more_ms": round(forked - whole, 1)}))
    return 0 if all(targets_met) else 1


if __name__ == "__main__":
    sys.exit(main())
