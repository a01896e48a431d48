"""Autoscaler controller: reconciles each autoscaler when its spec changes and after every sync period."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from lightkube.models.autoscaling_v2 import HorizontalPodAutoscaler, MetricStatus
from lightkube.models.core_v1 import Pod
from prometheus_client import Gauge

from steersman.apimachinery import quantity
from steersman.apimachinery.selectors import parse_label_selector
from steersman.apimachinery.selectors.labels import SelectorError
from steersman.client.changes import Updated
from steersman.client.errors import ClientError, NotFound
from steersman.client.objects import labels_of, namespace_of, split_key
from steersman.controllers.podautoscaler.metrics_api import MetricsAPI
from steersman.controllers.podautoscaler.proposals import Measuring, Proposal, Target, failure_of
from steersman.controllers.podautoscaler.replicas import MetricError, Timing, Tolerance
from steersman.controllers.podautoscaler.scaling import History, Limits, Normalized, normalize, normalize_with_behavior
from steersman.controllers.podautoscaler.state import State
from steersman.controllers.shared.base import ManagedController
from steersman.controllers.shared.served import discover
from steersman.runtime.result import Result
from steersman.runtime.structs import replaced

if TYPE_CHECKING:
    from lightkube.models.autoscaling_v2 import (
        CrossVersionObjectReference,
        HorizontalPodAutoscalerSpec,
        HPAScalingRules,
    )

    from steersman.apimachinery.selectors import LabelSelector
    from steersman.apimachinery.trees import Tree
    from steersman.client.changes import Change
    from steersman.client.resource_types import ResourceType
    from steersman.controllers.context import ControllerContext


_GET_SCALE_FAILED = "the HPA controller was unable to get the target's current scale: "


class _Scaled(NamedTuple):
    """A target and its scale subresource."""

    resource: ResourceType[Tree]
    name: str
    scale: Tree

    @property
    def spec_replicas(self) -> int:
        """Desired replicas of the target."""
        return int((self.scale.get("spec") or {}).get("replicas") or 0)

    @property
    def status_replicas(self) -> int:
        """Current replicas of the target."""
        return int((self.scale.get("status") or {}).get("replicas") or 0)

    @property
    def selector(self) -> str:
        """Return the selector of the target's pods, as text."""
        return str((self.scale.get("status") or {}).get("selector") or "")


class _Case(NamedTuple):
    """State of one reconcile."""

    key: str
    autoscaler: HorizontalPodAutoscaler
    spec: HorizontalPodAutoscalerSpec
    state: State

    @property
    def namespace(self) -> str:
        """Namespace of the autoscaler and its target."""
        return namespace_of(self.autoscaler)


class _DesiredReplicas(NamedTuple):
    """Proposed replicas, the deciding metric, and the error of failed metrics."""

    replicas: int
    metric: str
    error: MetricError | None


class PodAutoscaler(ManagedController):
    """Controller of HorizontalPodAutoscalers."""

    name: ClassVar[str] = "horizontal-pod-autoscaler-controller"
    queue_name: ClassVar[str] = "horizontalpodautoscaler"
    component: ClassVar[str] = "horizontal-pod-autoscaler"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, workers=context.options.concurrent_horizontal_pod_autoscaler_syncs)
        self._api = MetricsAPI(self.client)
        self._histories: dict[str, History] = {}
        #: Selectors of the autoscalers' targets, to detect overlaps.
        self._selectors: dict[str, LabelSelector] = {}
        self._autoscalers = self.watch(HorizontalPodAutoscaler, when=_is_spec_change)
        self._pods = self.informer(Pod)
        Gauge(
            "horizontal_pod_autoscaler_controller_num_horizontal_pod_autoscalers", "Number of HorizontalPodAutoscalers",
            registry=context.metrics.registry,
        ).set_function(lambda: sum(1 for _ in self._autoscalers.lister))  # fmt: skip

    async def reconcile(self, key: str) -> Result | None:
        """Compute the desired replicas, scale, and always write the status."""
        autoscaler = self._autoscalers.lister.by_key(key)
        if autoscaler is None or autoscaler.spec is None:
            self._histories.pop(key, None)
            self._selectors.pop(key, None)
            return None
        state = State.of(autoscaler, now=self.now())
        try:
            await self._follow(_Case(key, autoscaler, autoscaler.spec, state))
        except (MetricError, ClientError) as error:
            self.log.info("%s: %s", key, error)
        await self._write(key, autoscaler, state)
        return Result(requeue_after_seconds=self.options.horizontal_pod_autoscaler_sync_period_seconds)

    async def _follow(self, case: _Case) -> None:
        state, spec = case.state, case.spec
        scaled = await self._read_scale(case)
        text = "the HPA controller was able to get the target's current scale"
        state.set_condition("AbleToScale", "SucceededGetScale", text, status=True)
        current, limits = (
            scaled.spec_replicas,
            Limits(1 if spec.minReplicas is None else spec.minReplicas, spec.maxReplicas),
        )
        self._note_selector(case.key, scaled.selector)
        history = self._histories.setdefault(case.key, History())
        history.begin(current, now=self.clock.monotonic())
        state.current, state.metrics = current, None
        if not current and limits.least:
            text = "scaling is disabled since the replica count of the target is zero"
            state.set_condition("ScalingActive", "ScalingDisabled", text, status=False)
            state.desired = 0
        elif current > limits.most:
            await self._scale(case, scaled, limits.most, "Current number of replicas above Spec.MaxReplicas")
        elif current < limits.least:
            await self._scale(case, scaled, limits.least, "Current number of replicas below Spec.MinReplicas")
        else:
            await self._follow_metrics(case, scaled, limits)

    async def _read_scale(self, case: _Case) -> _Scaled:
        reference = case.spec.scaleTargetRef
        try:
            resource = await self._target_resource(reference)
            scale = await self.client.get_subresource(resource, reference.name, "scale", namespace=case.namespace)
        except (LookupError, ClientError) as error:
            self._selectors.pop(case.key, None)
            group = (reference.apiVersion or "").rpartition("/")[0]
            unknown = f'no matches for kind "{reference.kind}" in group "{group}"'
            text = unknown if isinstance(error, LookupError) else str(error)
            self.events.event(case.autoscaler, "Warning", "FailedGetScale", text)
            case.state.set_condition("AbleToScale", "FailedGetScale", f"{_GET_SCALE_FAILED}{text}", status=False)
            raise MetricError(text) from error
        return _Scaled(resource, reference.name, scale)

    async def _target_resource(self, reference: CrossVersionObjectReference) -> ResourceType[Tree]:
        """Return the resource of the target's group and kind, in another version if its own is not served.

        Raises LookupError.
        """
        api_version = reference.apiVersion or "v1"
        try:
            return await self.client.discover(api_version, reference.kind)
        except LookupError:
            served = await discover(self.client)
            group = api_version.rpartition("/")[0]
            for resource in served.preferred.values():
                if (resource.info.group, resource.info.kind) == (group, reference.kind):
                    return resource
            raise

    async def _follow_metrics(self, case: _Case, scaled: _Scaled, limits: Limits) -> None:
        try:
            proposal = await self._measure(case, scaled)
        except MetricError as error:
            self.events.event(case.autoscaler, "Warning", "FailedComputeMetricsReplicas", str(error))
            raise
        current, state = scaled.spec_replicas, case.state
        normalized = self._normalized(case, current, proposal.replicas, limits)
        state.set_condition("AbleToScale", *normalized.able, status=True)
        state.set_condition("ScalingLimited", *normalized.limited, status=normalized.is_limited)
        if normalized.replicas == current:
            state.desired = current
        else:
            await self._scale(case, scaled, normalized.replicas, _rescale_reason(proposal, current))
        if proposal.error is not None:
            raise proposal.error

    def _normalized(self, case: _Case, current: int, proposed_replicas: int, limits: Limits) -> Normalized:
        window_seconds = self.options.horizontal_pod_autoscaler_downscale_stabilization_seconds
        history, now, behavior = self._histories[case.key], self.clock.monotonic(), case.spec.behavior
        if behavior is None:
            return normalize(history, current, proposed_replicas, limits, window_seconds=window_seconds, now=now)
        return normalize_with_behavior(
            history, current, proposed_replicas, limits, behavior, window_seconds=window_seconds, now=now
        )

    async def _scale(self, case: _Case, scaled: _Scaled, replicas: int, reason: str) -> None:
        scale = {**scaled.scale, "spec": {**(scaled.scale.get("spec") or {}), "replicas": replicas}}
        try:
            await self.client.update_subresource(scaled.resource, scaled.name, "scale", scale, namespace=case.namespace)
        except ClientError as error:
            text = f"New size: {replicas}; reason: {reason}; error: {error}"
            self.events.event(case.autoscaler, "Warning", "FailedRescale", text)
            text = f"the HPA controller was unable to update the target scale: {error}"
            case.state.set_condition("AbleToScale", "FailedUpdateScale", text, status=False)
            raise
        text = f"the HPA controller was able to update the target scale to {replicas}"
        case.state.set_condition("AbleToScale", "SucceededRescale", text, status=True)
        text = f"New size: {replicas}; reason: {reason}"
        self.events.event(case.autoscaler, "Normal", "SuccessfulRescale", text)
        history, before = self._histories[case.key], scaled.spec_replicas
        history.scaled(before, replicas, case.spec.behavior, now=self.clock.monotonic())
        case.state.desired, case.state.scaled_at = replicas, case.state.now

    async def _measure(self, case: _Case, scaled: _Scaled) -> _DesiredReplicas:
        """Return the largest proposal. A failed metric prevents scaling down, but not up."""
        pods = self._selected(case, scaled.selector)
        specs = case.spec.metrics or []
        target = Target(case.namespace, scaled.selector, pods, scaled.spec_replicas, scaled.status_replicas)
        measuring = Measuring(self._api, target, self._tolerance(case.spec), self._timing())
        case.state.metrics = statuses = [MetricStatus(type="") for _ in specs]
        best: Proposal | None = None
        faults: list[tuple[str, str, str]] = []
        for place, metric in enumerate(specs):
            try:
                proposal = await measuring.propose(metric)
            except MetricError as error:
                reason, prefix = failure_of(metric)
                self.events.event(case.autoscaler, "Warning", reason, str(error))
                faults.append((reason, str(error), prefix))
                continue
            statuses[place] = proposal.status
            if best is None or not best.replicas or proposal.replicas > best.replicas:
                best = proposal
        fault = _combined_error(faults, len(specs))
        if best is None or (fault is not None and best.replicas < scaled.spec_replicas):
            if faults:
                text = f"the HPA was unable to compute the replica count: {faults[0][1]}"
                case.state.set_condition("ScalingActive", faults[0][0], text, status=False)
            raise fault or MetricError("no metrics are asked for")
        text = f"the HPA was able to successfully calculate a replica count from {best.metric}"
        case.state.set_condition("ScalingActive", "ValidMetricFound", text, status=True)
        return _DesiredReplicas(best.replicas, best.metric, fault)

    def _note_selector(self, key: str, text: str) -> None:
        """Record the target's selector, for detecting autoscalers with the same pods."""
        self._selectors.pop(key, None)
        with suppress(SelectorError):
            if text:
                self._selectors[key] = parse_label_selector(text)

    def _selected(self, case: _Case, text: str) -> list[Pod]:
        """Return the target's pods. Raises MetricError if another autoscaler selects them too."""
        if not text:
            self.events.event(case.autoscaler, "Warning", "SelectorRequired", "selector is required")
            fault = "the HPA target's scale is missing a selector"
            case.state.set_condition("ScalingActive", "InvalidSelector", fault, status=False)
            raise MetricError("selector is required")
        try:
            selector = parse_label_selector(text)
        except SelectorError as error:
            fault = f"couldn't convert selector into a corresponding internal selector object: {error}"
            raise self._refused(case, "InvalidSelector", fault) from error
        pods = [pod for pod in self._pods.lister.list(namespace=case.namespace) if selector.matches(labels_of(pod))]
        overlapping = sorted(
            other
            for other, selector in self._selectors.items()
            if split_key(other)[0] == case.namespace and any(selector.matches(labels_of(pod)) for pod in pods)
        )
        if len(overlapping) > 1:
            fault = f"pods by selector {text} are controlled by multiple HPAs: [{' '.join(overlapping)}]"
            raise self._refused(case, "AmbiguousSelector", fault)
        return pods

    def _refused(self, case: _Case, reason: str, fault: str) -> MetricError:
        self.events.event(case.autoscaler, "Warning", reason, fault)
        case.state.set_condition("ScalingActive", reason, fault, status=False)
        return MetricError(fault)

    def _tolerance(self, spec: HorizontalPodAutoscalerSpec) -> Tolerance:
        default, behavior = self.options.horizontal_pod_autoscaler_tolerance, spec.behavior

        def of(rules: HPAScalingRules | None) -> float:
            tolerance = rules.tolerance if rules is not None else None
            return default if tolerance is None else _share(tolerance)

        return Tolerance(of(behavior.scaleDown), of(behavior.scaleUp)) if behavior else Tolerance(default, default)

    def _timing(self) -> Timing:
        return Timing(
            self.clock.now(),
            self.options.horizontal_pod_autoscaler_cpu_initialization_period_seconds,
            self.options.horizontal_pod_autoscaler_initial_readiness_delay_seconds,
        )

    async def _write(self, key: str, autoscaler: HorizontalPodAutoscaler, state: State) -> None:
        desired_status = state.status()
        if desired_status == autoscaler.status:
            return
        try:
            written = await self.client.update_status(replaced(autoscaler, status=desired_status))
        except NotFound:
            return
        self.own_writes.note(key, self._autoscalers, written)


def _rescale_reason(proposal: _DesiredReplicas, current: int) -> str:
    """Return the reason in the event; empty if only stabilization or a bound changes the size."""
    if proposal.replicas > current:
        return f"{proposal.metric} above target"
    return "All metrics below target" if proposal.replicas < current else ""


def _combined_error(faults: list[tuple[str, str, str]], total: int) -> MetricError | None:
    """Return one error for all metrics that failed."""
    if not faults:
        return None
    _, error, prefix = faults[0]
    return MetricError(f"invalid metrics ({len(faults)} invalid out of {total}), first error is: {prefix}: {error}")


def _share(text: object) -> float:
    """Parse a quantity to a float."""
    return quantity.parse(str(text)).milli / 1000


def _is_spec_change(change: Change[HorizontalPodAutoscaler]) -> bool:
    """Report whether the spec changed, as opposed to the controller's own writes."""
    return not isinstance(change, Updated) or change.old.spec != change.new.spec


def build(context: ControllerContext) -> PodAutoscaler:
    """Construct the controller."""
    return PodAutoscaler(context)
