"""Operations of the work queue, and changes that a controller process receives and reconciles, per second.

``python -m benchmarks.controllers``; exit code 1 when a target is missed. Controller and server are separate processes;
the rate per core is in the controller's CPU time, the other rate in wall time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import uvloop

from benchmarks.run import NAMESPACE, Report, config_map, fill
from benchmarks.servers import Server, api_server

QUEUE_KEYS = 50_000
QUEUE_OPERATIONS_MIN = 20_000
CHANGES = 10_000
CHANGES_MIN = 1_000


async def _queue_rates() -> tuple[float, float]:
    """Return operations per second (add, get, done, forget): all at once, and with workers that wait for each key."""
    from prometheus_client import CollectorRegistry  # noqa: PLC0415 — not the other parts' business

    from steersman.client.workqueue import ShutDown, WorkQueue  # noqa: PLC0415 — as above
    from steersman.client.workqueue.prometheus import QueueMetricsFamilies  # noqa: PLC0415 — as above

    def queue() -> WorkQueue[int]:
        return WorkQueue("bench", metrics=QueueMetricsFamilies(CollectorRegistry()).queue("bench"))

    async def work(work_queue: WorkQueue[int]) -> None:
        while True:
            try:
                key = await work_queue.get()
            except ShutDown:
                return
            work_queue.done(key)
            work_queue.forget(key)

    full = queue()
    start = time.perf_counter()
    for key in range(QUEUE_KEYS):
        full.add(key)
    full.shut_down()
    await work(full)
    at_once = 4 * QUEUE_KEYS / (time.perf_counter() - start)

    busy = queue()
    workers = [asyncio.create_task(work(busy)) for _ in range(4)]
    start = time.perf_counter()
    for key in range(QUEUE_KEYS):
        busy.add(key)
        await asyncio.sleep(0)
    busy.shut_down()
    await asyncio.gather(*workers)
    return at_once, 4 * QUEUE_KEYS / (time.perf_counter() - start)


def measure_queue(report: Report, rounds: int) -> None:
    rates = [uvloop.run(_queue_rates()) for _ in range(rounds)]
    at_once, waiting = (statistics.median(rate) for rate in zip(*rates, strict=True))
    text = f"{at_once:8.0f}/s at once  {waiting:8.0f}/s with waiting workers (≥ {QUEUE_OPERATIONS_MIN}/s)"
    report.line("work queue operations", text, is_met=min(at_once, waiting) >= QUEUE_OPERATIONS_MIN)


async def _controller(kubeconfig: str) -> None:
    """Reconcile every ConfigMap of the benchmark, and print the result after the last."""
    from lightkube.models.core_v1 import ConfigMap  # noqa: PLC0415 — the parent does not need it

    from steersman.client import connect  # noqa: PLC0415 — as above
    from steersman.runtime.controller import Controller  # noqa: PLC0415 — as above
    from steersman.runtime.manager import Manager  # noqa: PLC0415 — as above

    class Looking(Controller):
        """Controller that reads the typed object of each key and writes nothing."""

        name = "looking"

        def __init__(self, manager: Manager) -> None:
            super().__init__(manager.context)
            self.maps = self.watch(ConfigMap, namespace="default")
            self.manager = manager
            self.count = 0
            self.started = self.cpu = 0.0

        async def start(self) -> None:
            print("ready", flush=True)

        async def reconcile(self, key: str) -> None:
            obj = self.maps.lister.by_key(key)
            if obj is None or not key.startswith("default/change-"):
                return
            if not self.count:
                self.started, self.cpu = time.perf_counter(), time.process_time()
            self.count += 1
            if self.count == CHANGES:
                seconds, cpu_seconds = time.perf_counter() - self.started, time.process_time() - self.cpu
                print(json.dumps({"seconds": seconds, "cpu_seconds": cpu_seconds}), flush=True)
                self.manager.stop()

    async with connect(kubeconfig) as client:
        manager = Manager(client)
        manager.add(Looking(manager))
        await manager.run()


def measure_changes(report: Report, server: Server) -> None:
    kubeconfig = Path(server.directory) / "bench.kubeconfig"
    command = [sys.executable, "-m", "benchmarks.controllers", "--child", str(kubeconfig)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        if child.stdout.readline() != "ready\n":
            raise RuntimeError("the controller did not start")
        fill(server.target, f"{NAMESPACE}/configmaps", config_map, CHANGES, "change")
        figures = json.loads(child.stdout.readline())
    on_a_core, as_it_was = CHANGES / figures["cpu_seconds"], CHANGES / figures["seconds"]
    text = f"{on_a_core:8.0f}/s on one core (≥ {CHANGES_MIN}/s)  {as_it_was:8.0f}/s as fast as they were written"
    report.line("changes through reconcile", text, is_met=on_a_core >= CHANGES_MIN)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        uvloop.run(_controller(arguments.child))
        return 0
    report = Report()
    measure_queue(report, 1 if arguments.quick else 5)
    with api_server() as server:
        measure_changes(report, server)
    return 0 if report.is_met else 1


if __name__ == "__main__":
    sys.exit(main())
