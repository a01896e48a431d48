"""10,000 pods into an informer's cache: ours beside that of ``kubernetes``, one process each, in turns.

``python -m benchmarks.informer``; exit code 1 when a target is missed. Both watch the same server with the same pods.
Preparation before the first object (imports, connections, decoders: one LIST of one pod) is not measured.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.run import NAMESPACE, Report, fill, pod, prepare
from benchmarks.servers import Server, _rss, api_server

PODS = 10_000
SPEED_MIN = 5.0
MEMORY_SHARE_MAX = 1 / 3


def _figures(seconds: float, cpu_seconds: float, before_bytes: int, count: int) -> None:
    gc.collect()
    used = _rss(os.getpid()) - before_bytes
    print(json.dumps({"seconds": seconds, "cpu_seconds": cpu_seconds, "bytes": used, "count": count}))


async def _ours(kubeconfig: str) -> None:
    from lightkube.models.core_v1 import Pod  # noqa: PLC0415 — the other child must not load it

    from steersman.client import InformerFactory, connect  # noqa: PLC0415 — as above

    async with connect(kubeconfig) as client:
        await client.list(Pod, limit=1)
        async with client.watch(Pod, resource_version="0", timeout_seconds=1):
            pass
        gc.collect()
        before = _rss(os.getpid())
        start, cpu = time.perf_counter(), time.process_time()
        async with InformerFactory(client) as informers:
            informer = informers.informer(Pod)
            informer.start()
            await informer.wait_synced(timeout_seconds=120)
            _figures(time.perf_counter() - start, time.process_time() - cpu, before, len(informer.lister))


def _theirs(kubeconfig: str) -> None:
    from kubernetes import client, config  # noqa: PLC0415 — as above
    from kubernetes.informer import SharedInformer  # noqa: PLC0415 — as above

    config.load_kube_config(kubeconfig)
    core = client.CoreV1Api()
    core.list_pod_for_all_namespaces(limit=1)
    gc.collect()
    before = _rss(os.getpid())
    start, cpu = time.perf_counter(), time.process_time()
    informer = SharedInformer(core.list_pod_for_all_namespaces)
    informer.start()
    while len(informer.cache.list_keys()) < PODS:
        time.sleep(0.01)
    _figures(time.perf_counter() - start, time.process_time() - cpu, before, len(informer.cache.list_keys()))
    sys.stdout.flush()
    os._exit(0)  # its watch thread ends only when the server ends the watch


def _run(implementation: str, server: Server) -> dict[str, float]:
    kubeconfig = Path(server.directory) / "bench.kubeconfig"
    command = [sys.executable, "-m", "benchmarks.informer", "--child", implementation, str(kubeconfig)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    if figures["count"] != PODS:
        raise RuntimeError(f"{implementation} has {figures['count']} of {PODS} pods")
    return figures


def measure(report: Report, server: Server, rounds: int) -> None:
    """Measure both informers; the server must have ``PODS`` pods."""
    pairs = [(_run("ours", server), _run("kubernetes", server)) for _ in range(rounds)]
    speed = statistics.median(b["seconds"] / a["seconds"] for a, b in pairs)
    share = statistics.median(a["bytes"] / b["bytes"] for a, b in pairs)
    for name, figures in (("ours", [a for a, _ in pairs]), ("kubernetes", [b for _, b in pairs])):
        seconds, cpu, used = (statistics.median(f[key] for f in figures) for key in ("seconds", "cpu_seconds", "bytes"))
        report.line(f"informer, {name}", f"{seconds:8.2f} s  ({cpu:.2f} s of CPU)  {used / 1e6:6.0f} MB")
    report.line("informer, speed", f"{speed:8.1f} × (≥ {SPEED_MIN:g} ×)", is_met=speed >= SPEED_MIN)
    report.line("informer, memory", f"{share:8.2f} of it (≤ {MEMORY_SHARE_MAX:.2f})", is_met=share <= MEMORY_SHARE_MAX)


def measure_informers(report: Report, rounds: int) -> None:
    """Start a server, create its pods and measure both informers."""
    with api_server(ephemeral=True) as server:
        prepare(server)
        fill(server.target, f"{NAMESPACE}/pods", pod, PODS, "informer")
        measure(report, server, rounds)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--child", nargs=2, metavar=("WHICH", "KUBECONFIG"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        implementation, kubeconfig = arguments.child
        if implementation == "ours":
            asyncio.run(_ours(kubeconfig))
        else:
            _theirs(kubeconfig)
        return 0
    report = Report()
    measure_informers(report, arguments.rounds)
    return 0 if report.is_met else 1


if __name__ == "__main__":
    sys.exit(main())
