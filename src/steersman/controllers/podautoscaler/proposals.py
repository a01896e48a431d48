"""Replica proposals of single metrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from lightkube.models.autoscaling_v2 import (
    ContainerResourceMetricStatus,
    ExternalMetricStatus,
    MetricStatus,
    MetricValueStatus,
    ObjectMetricStatus,
    PodsMetricStatus,
    ResourceMetricStatus,
)

from steersman.apimachinery import quantity
from steersman.apimachinery.gotext import label_selector_text
from steersman.controllers.podautoscaler.replicas import (
    MetricError,
    Outcome,
    Timing,
    Tolerance,
    by_average,
    by_share,
    by_utilization,
    by_value,
    requests_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightkube.models.autoscaling_v2 import MetricIdentifier, MetricSpec, MetricTarget
    from lightkube.models.core_v1 import Pod

    from steersman.controllers.podautoscaler.metrics_api import MetricsAPI


class Proposal(NamedTuple):
    """Proposed replicas of one metric, and its status."""

    replicas: int
    metric: str
    status: MetricStatus


@dataclass(frozen=True, slots=True)
class Target:
    """Current state of the scale target."""

    namespace: str
    selector: str
    pods: Sequence[Pod]
    spec_replicas: int
    status_replicas: int


def failure_of(spec: MetricSpec) -> tuple[str, str]:
    """Return the reason for event and condition of a failed metric, and the prefix of the overall error.

    Event and condition have the error itself.
    """
    if spec.resource is not None:
        return "FailedGetResourceMetric", f"failed to get {spec.resource.name} resource metric value"
    if spec.containerResource is not None:
        container = spec.containerResource.container
        return "FailedGetContainerResourceMetric", f"failed to get {container} container metric value"
    if spec.pods is not None:
        return "FailedGetPodsMetric", "failed to get pods metric value"
    if spec.object is not None:
        name, target = spec.object.metric.name, spec.object.target
        more = f": failed to get {name} object metric" if target.averageValue is not None else ""
        return "FailedGetObjectMetric", f"failed to get object metric value{more}"
    if spec.external is not None:
        name, target = spec.external.metric.name, spec.external.target
        if target.averageValue is not None:
            more = f": failed to get {name} external metric"
        else:
            more = f": failed to get external metric {name}" if target.value is not None else ""
        return "FailedGetExternalMetric", f"failed to get {name} external metric value{more}"
    return "InvalidMetricSourceType", "invalid metric source type"


@dataclass(frozen=True, slots=True)
class Measuring:
    """Inputs other than the metric."""

    api: MetricsAPI
    target: Target
    tolerance: Tolerance
    timing: Timing

    async def propose(self, spec: MetricSpec) -> Proposal:
        """Return the proposal of a metric. Raises MetricError."""
        if spec.resource is not None:
            return await self._resource(spec.resource.name, spec.resource.target, "")
        if spec.containerResource is not None:
            source = spec.containerResource
            return await self._resource(source.name, source.target, source.container)
        if spec.pods is not None:
            return await self._pods(spec)
        if spec.object is not None:
            return await self._object(spec)
        return await self._external(spec)

    async def _resource(self, name: str, target: MetricTarget, container: str) -> Proposal:
        word = "usage" if target.averageValue is not None else "utilization"
        if target.averageValue is None and target.averageUtilization is None:
            raise MetricError(
                "invalid resource metric source: neither an average utilization target nor an average value (usage) "
                "target was set"
            )
        try:
            outcome = await self._resource_outcome(name, target, container)
        except MetricError as error:
            raise MetricError(f"failed to get {name} {word}: {error}") from error
        current = MetricValueStatus(averageValue=_text(outcome.milli), averageUtilization=outcome.percent)
        kind = "container resource" if container else "resource"
        metric = f"{name} resource"
        if target.averageValue is None:
            metric = f"{name} {kind} utilization (percentage of request)"
        if container:
            metric_status = ContainerResourceMetricStatus(name=name, container=container, current=current)
            return Proposal(
                outcome.replicas, metric, MetricStatus(type="ContainerResource", containerResource=metric_status)
            )
        status = MetricStatus(type="Resource", resource=ResourceMetricStatus(name=name, current=current))
        return Proposal(outcome.replicas, metric, status)

    async def _resource_outcome(self, name: str, target: MetricTarget, container: str) -> Outcome:
        try:
            measured = await self.api.resource(name, self.target.namespace, self.target.selector, container=container)
        except MetricError as error:
            raise MetricError(f"unable to get metrics for resource {name}: {error}") from error
        scale_target, pods = self.target, self.target.pods
        if target.averageValue is not None:
            target_milli = _milli(target.averageValue)
            return by_average(
                scale_target.spec_replicas,
                target_milli,
                pods,
                measured,
                name,
                tolerance=self.tolerance,
                timing=self.timing,
            )
        return by_utilization(
            scale_target.spec_replicas,
            target.averageUtilization or 0,
            pods,
            measured,
            name,
            requests=requests_of(pods, name, container=container),
            tolerance=self.tolerance,
            timing=self.timing,
        )

    async def _pods(self, spec: MetricSpec) -> Proposal:
        source = spec.pods
        assert source is not None
        try:
            measured = await self.api.of_pods(source.metric, self.target.namespace, self.target.selector)
        except MetricError as error:
            raise MetricError(f"unable to get metric {source.metric.name}: {error}") from error
        target_milli = _milli(source.target.averageValue)
        outcome = by_average(
            self.target.spec_replicas,
            target_milli,
            self.target.pods,
            measured,
            tolerance=self.tolerance,
            timing=self.timing,
        )
        metric_status = PodsMetricStatus(
            metric=source.metric, current=MetricValueStatus(averageValue=_text(outcome.milli))
        )
        status = MetricStatus(type="Pods", pods=metric_status)
        return Proposal(outcome.replicas, f"pods metric {source.metric.name}", status)

    async def _object(self, spec: MetricSpec) -> Proposal:
        source = spec.object
        assert source is not None
        described = source.describedObject
        try:
            usage = await self.api.of_object(source.metric, self.target.namespace, described)
        except MetricError as error:
            place = f"{described.kind} on {self.target.namespace} {described.name}/{error}"
            raise MetricError(f"unable to get metric {source.metric.name}: {place}") from error
        outcome, current = self._of_total(source.target, usage, "object")
        metric_status = ObjectMetricStatus(metric=source.metric, describedObject=described, current=current)
        named = f"{described.kind} metric {source.metric.name}"
        metric = named if current.value is not None else f"external metric {_shown(source.metric)}"
        return Proposal(outcome.replicas, metric, MetricStatus(type="Object", object=metric_status))

    async def _external(self, spec: MetricSpec) -> Proposal:
        source = spec.external
        if source is None:
            raise MetricError(f'unknown metric source type "{spec.type}"')
        name, namespace = source.metric.name, self.target.namespace
        try:
            usage = await self.api.external(source.metric, namespace)
        except MetricError as error:
            place = f"{namespace}/{name}/{_selector(source.metric)}"
            raise MetricError(f"unable to get external metric {place}: {error}") from error
        outcome, current = self._of_total(source.target, usage, "external")
        metric_status = ExternalMetricStatus(metric=source.metric, current=current)
        status = MetricStatus(type="External", external=metric_status)
        return Proposal(outcome.replicas, f"external metric {_shown(source.metric)}", status)

    def _of_total(self, target: MetricTarget, usage: int, kind: str) -> tuple[Outcome, MetricValueStatus]:
        if target.averageValue is not None:
            outcome = by_share(
                self.target.status_replicas, usage, _milli(target.averageValue), tolerance=self.tolerance
            )
            return outcome, MetricValueStatus(averageValue=_text(outcome.milli))
        if target.value is None:
            raise MetricError(
                f"invalid {kind} metric source: neither a value target nor an average value target was set"
            )
        scale_target = self.target
        outcome = by_value(
            scale_target.spec_replicas, usage, _milli(target.value), scale_target.pods, tolerance=self.tolerance
        )
        return outcome, MetricValueStatus(value=_text(outcome.milli))


def _milli(value: object) -> int:
    return quantity.parse(str(value)).milli


def _text(milli: int) -> str:
    return str(quantity.Quantity.of_milli(milli))


def _shown(metric: MetricIdentifier) -> str:
    return f"{metric.name}({_selector(metric)})"


def _selector(metric: MetricIdentifier) -> str:
    return label_selector_text(None if metric.selector is None else msgspec.to_builtins(metric.selector))
