"""Scheduling decisions per second without a server: 3,000 pods onto 1,000 nodes, in CPU time of one core.

``python -m benchmarks.scheduling``; exit code 1 when a target is missed. Each binding is confirmed as by the watch,
which is measured as well.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec
from lightkube.models.core_v1 import Node, Pod

from benchmarks.rates import Report
from steersman.apimachinery.selectors import parse_label_selector
from steersman.scheduler.configuration.settings import Settings
from steersman.scheduler.core import AssumedPod, SchedulerCore
from steersman.scheduler.pod_info import PodInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NODES = 1_000
PODS = 3_000
PODS_A_SECOND_MIN = 500
_HOST = "kubernetes.io/hostname"
_NOW = datetime(2026, 1, 1, tzinfo=UTC)


def node(number: int) -> Node:
    name = f"node-{number}"
    labels = {_HOST: name, "topology.kubernetes.io/zone": f"zone-{number % 3}"}
    allocatable = {"cpu": "32", "memory": "256Gi", "pods": "110"}
    return msgspec.convert({"metadata": {"name": name, "labels": labels}, "status": {"allocatable": allocatable}}, Node)


def pod(number: int, app: str, **spec: Any) -> Pod:
    metadata: dict[str, Any] = {"name": f"{app}-{number}", "namespace": "default", "uid": f"{app}-{number}"}
    metadata["labels"] = {"app": app}
    metadata["ownerReferences"] = [
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app, "uid": app, "controller": True}
    ]
    container = {"name": "c", "image": "image", "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}
    return msgspec.convert({"metadata": metadata, "spec": {"containers": [container], **spec}}, Pod)


def plain() -> Iterator[Pod]:
    """Return pods of one workload, spread by default."""
    return (pod(number, "web") for number in range(PODS))


def lonely() -> Iterator[Pod]:
    """Return pods of ten workloads with anti-affinity: none of one workload share a node."""
    for number in range(PODS):
        app = f"db-{number % 10}"
        term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": _HOST}
        affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        yield pod(number, app, affinity=affinity)


def spread() -> Iterator[Pod]:
    """Return pods of one workload that must be spread over zones."""
    constraint = {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "spread"}},
    }
    return (pod(number, "spread", topologySpreadConstraints=[constraint]) for number in range(PODS))


async def pods_a_second(pods: Callable[[], Iterator[Pod]]) -> float:
    core = SchedulerCore(Settings(), dice=random.Random(1), monotonic=lambda: 0.0, now=lambda: _NOW)
    for number in range(NODES):
        core.set_node(node(number))
    pending = list(pods())
    for app in {unscheduled.metadata.labels["app"] for unscheduled in pending}:  # type: ignore[union-attr, index]
        core.workloads.set_owner(app, parse_label_selector(f"app={app}"))
    started_at = time.process_time()
    for unscheduled in pending:
        core.set_pending_pod(PodInfo(unscheduled))
    for _ in pending:
        placed = await core.schedule_one(())
        assert isinstance(placed, AssumedPod)
        bound: Any = placed.queued.pod.pod
        bound.spec.nodeName = placed.node
        core.set_assigned_pod(bound)
        core.binding_succeeded(placed)
    return len(pending) / (time.process_time() - started_at)


def measure(report: Report) -> None:
    for name, pods in (("spread by default", plain), ("required anti-affinity", lonely), ("spread by force", spread)):
        rate = asyncio.run(pods_a_second(pods))
        report.line(
            f"schedule: {name}", f"{rate:6.0f} pods/s (≥ {PODS_A_SECOND_MIN})", is_met=rate >= PODS_A_SECOND_MIN
        )


def main() -> int:
    report = Report()
    measure(report)
    return 0 if report.is_met else 1


if __name__ == "__main__":
    sys.exit(main())
