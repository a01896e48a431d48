"""Replica calculator. Pure rules of ``pkg/controller/podautoscaler/replica_calculator.go``."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil
from typing import TYPE_CHECKING, Any

from steersman.apimachinery import quantity
from steersman.apimachinery.timestamps import add_seconds
from steersman.client.objects import metadata_field, name_of
from steersman.workloads.pods import is_ready, phase_of, ready_condition

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from lightkube.models.core_v1 import Pod


class MetricError(Exception):
    """The replicas cannot be computed; the message is for users."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Value of one pod, in thousandths."""

    milli: int
    at: datetime | None = None
    window_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Deviation of the usage ratio from 1 within which the target is not scaled."""

    down: float = 0.1
    up: float = 0.1

    def covers(self, ratio: float) -> bool:
        """Report whether the ratio is within the tolerance."""
        return 1.0 - self.down <= ratio <= 1.0 + self.up


@dataclass(frozen=True, slots=True)
class Timing:
    """Periods after a pod's start in which its CPU usage is ignored."""

    now: datetime
    cpu_initialization_seconds: float = 300.0
    initial_readiness_seconds: float = 30.0


@dataclass(slots=True)
class Groups:
    """Pod names by state of their metrics."""

    ready: int = 0
    unready: set[str] = field(default_factory=set)
    missing: set[str] = field(default_factory=set)
    ignored: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Replicas, and the measured value: thousandths per pod, and utilization in percent."""

    replicas: int
    milli: int
    percent: int | None = None


def group(pods: Iterable[Pod], measured: Mapping[str, Measured], resource: str, timing: Timing) -> Groups:
    """Return the pods by state. ``resource`` is empty for other than resource metrics."""
    groups = Groups()
    for pod in pods:
        name = name_of(pod)
        if metadata_field(pod, "deletionTimestamp") is not None or phase_of(pod) == "Failed":
            groups.ignored.add(name)
        elif phase_of(pod) == "Pending":
            groups.unready.add(name)
        elif name not in measured:
            groups.missing.add(name)
        elif resource == "cpu" and _is_starting(pod, measured[name], timing):
            groups.unready.add(name)
        else:
            groups.ready += 1
    return groups


def _is_starting(pod: Pod, measured: Measured, timing: Timing) -> bool:
    ready = ready_condition(pod)
    started = pod.status.startTime if pod.status else None
    if ready is None or started is None:
        return True
    changed = ready.lastTransitionTime
    if add_seconds(started, timing.cpu_initialization_seconds) > timing.now:
        if ready.status == "False":
            return True
        if changed is None or measured.at is None:
            return False
        return measured.at < add_seconds(changed, measured.window_seconds)
    if ready.status != "False" or changed is None:
        return ready.status == "False"
    return add_seconds(started, timing.initial_readiness_seconds) > changed


def requests_of(pods: Iterable[Pod], resource: str, *, container: str = "") -> dict[str, int]:
    """Return the requests of each pod in thousandths; of one container if named. Raises MetricError."""
    return {name_of(pod): _request(pod, resource, container) for pod in pods}


def _request(pod: Pod, resource: str, container: str) -> int:
    spec = pod.spec
    if spec is None:
        return 0
    of_pod = _requested_amount(spec.resources, resource) if not container else None
    if of_pod is not None:
        return of_pod
    sidecars = [container for container in spec.initContainers or () if container.restartPolicy == "Always"]
    counted = [
        container_spec
        for container_spec in [*spec.containers, *sidecars]
        if not container or container_spec.name == container
    ]
    if container and not counted:
        raise MetricError(f"container {container} not found in Pod {name_of(pod)}")
    total = 0
    for container_spec in counted:
        requested = _requested_amount(container_spec.resources, resource)
        if requested is None:
            raise MetricError(
                f"missing request for {resource} in container {container_spec.name} of Pod {name_of(pod)}"
            )
        total += requested
    return total


def _requested_amount(resources: Any, resource: str) -> int | None:
    value = ((resources.requests if resources is not None else None) or {}).get(resource)
    return None if value is None else quantity.parse(str(value)).milli


def by_utilization(
    current: int,
    percent: int,
    pods: Sequence[Pod],
    measured: Mapping[str, Measured],
    resource: str,
    *,
    requests: Mapping[str, int],
    tolerance: Tolerance,
    timing: Timing,
) -> Outcome:
    """Return the replicas for an average utilization of ``percent``. Raises MetricError."""

    def rate(values: Mapping[str, int]) -> tuple[float, int, int]:
        requested_names = [name for name in values if name in requests]
        total = sum(requests[name] for name in requested_names)
        if not total:
            raise MetricError("no metrics returned matched known pods")
        used = sum(values[name] for name in requested_names)
        share = used * 100 // total
        return share / percent, used // len(requested_names), share

    fallback = {name: request * max(100, percent) // 100 for name, request in requests.items()}
    return _by_pods(current, pods, measured, resource, rate=rate, fallback=fallback, tolerance=tolerance, timing=timing)


def by_average(
    current: int,
    milli: int,
    pods: Sequence[Pod],
    measured: Mapping[str, Measured],
    resource: str = "",
    *,
    tolerance: Tolerance,
    timing: Timing,
) -> Outcome:
    """Return the replicas for an average of ``milli`` over all pods. Raises MetricError."""

    def rate(values: Mapping[str, int]) -> tuple[float, int, int | None]:
        average = sum(values.values()) // len(values)
        return average / milli, average, None

    fallback = {name_of(pod): milli for pod in pods}
    return _by_pods(
        current, pods, measured, resource,
        rate=rate, fallback=fallback, fills_at_target=True, tolerance=tolerance, timing=timing,
    )  # fmt: skip


def _by_pods(
    current: int,
    pods: Sequence[Pod],
    measured: Mapping[str, Measured],
    resource: str,
    *,
    rate: Any,
    fallback: Mapping[str, int],
    fills_at_target: bool = False,
    tolerance: Tolerance,
    timing: Timing,
) -> Outcome:
    """Return the replicas from pod values; pods without metrics never enlarge the change.

    ``fills_at_target``: also at a ratio of exactly 1 pods without metrics count as 0, as in upstream's
    ``calcPlainMetricReplicas`` but not in ``GetResourceReplicas``.
    """
    if not pods:
        raise MetricError("no pods returned by selector while calculating replica count")
    groups = group(pods, measured, resource, timing)
    left_out = groups.ignored | groups.unready
    values = {name: measured_value.milli for name, measured_value in measured.items() if name not in left_out}
    if not values:
        raise MetricError("did not receive metrics for targeted pods (pods might be unready)")
    ratio, milli, percent = rate(values)
    keep = Outcome(current, milli, percent)
    unready_count = bool(groups.unready) and ratio > 1.0
    if not unready_count and not groups.missing:
        return keep if tolerance.covers(ratio) else Outcome(ceil(ratio * groups.ready), milli, percent)
    if ratio != 1.0 or fills_at_target:
        values |= {name: fallback.get(name, 0) if ratio < 1.0 else 0 for name in groups.missing}
    if unready_count:
        values |= dict.fromkeys(groups.unready, 0)
    repeated_rate = rate(values)[0]
    if tolerance.covers(repeated_rate) or ratio < 1.0 < repeated_rate or repeated_rate < 1.0 < ratio:
        return keep
    replicas = ceil(repeated_rate * len(values))
    if (repeated_rate < 1.0 and replicas > current) or (repeated_rate > 1.0 and replicas < current):
        return keep
    return Outcome(replicas, milli, percent)


def by_value(current: int, usage: int, target: int, pods: Sequence[Pod], *, tolerance: Tolerance) -> Outcome:
    """Return the replicas for a total ``target`` of one value. Raises MetricError."""
    ratio = usage / target
    if not current:
        return Outcome(ceil(ratio), usage)
    if tolerance.covers(ratio):
        return Outcome(current, usage)
    if not pods:
        raise MetricError(
            "unable to calculate ready pods: no pods returned by selector while calculating replica count"
        )
    ready = sum(phase_of(pod) == "Running" and is_ready(pod) for pod in pods)
    return Outcome(ceil(ratio * ready), usage)


def by_share(status_replicas: int, usage: int, target: int, *, tolerance: Tolerance) -> Outcome:
    """Return the replicas for a share ``target`` of one value per replica."""
    replicas = status_replicas
    if not status_replicas or not tolerance.covers(usage / (target * status_replicas)):
        replicas = ceil(usage / target)
    return Outcome(replicas, ceil(usage / status_replicas) if status_replicas else usage)
