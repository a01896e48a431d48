"""Controller of the pods on simulated nodes: runs each pod through its stages, as the nodes' kubelets would."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from steersman.asynckit.ratelimit import TokenBucket
from steersman.client.objects import name_of, split_key, uid_of
from steersman.nodes import pod_conditions, pod_preemption, pod_status, pod_termination
from steersman.nodes.bound_pods import PODS, BoundPodController
from steersman.nodes.claims import mount_failure
from steersman.nodes.node_object import internal_ip, kubelet_port
from steersman.nodes.pod_addresses import PodAddresses
from steersman.nodes.pod_admission import PodAdmission
from steersman.nodes.pod_dependencies import PodDependencies
from steersman.nodes.simulation.containers import CONFIG_ERROR
from steersman.nodes.stage_runner import StageRunner
from steersman.nodes.stages import StageContext
from steersman.runtime.result import Result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.nodes.chaos.rules import Chaos
    from steersman.nodes.references import MissingReference
    from steersman.nodes.stages import Outcome, Stage
    from steersman.runtime.context import ControllerContext


#: Pods reconciled concurrently.
WORKERS: Final = 32
#: Resync period of a pod that waits for a Secret or ConfigMap, in case an event was missed.
_REFERENCE_RESYNC_SECONDS: Final = 60.0
#: Requeue delay of a pod whose due transition changed nothing.
_UNCHANGED_SECONDS: Final = 0.1
#: Rate of Normal events about pods, as ``--event-qps`` and ``--event-burst`` of one kubelet; further ones are dropped.
_EVENTS_PER_SECOND: Final = 50
_EVENTS_BURST: Final = 100
_FAILED_PULL_SECRETS: Final = (
    "Unable to retrieve some image pull secrets ({}); attempting to pull the image may not succeed."
)
_FAILED_MOUNT: Final = 'MountVolume.SetUp failed for volume "{}" : {}'


class PodController(BoundPodController):
    """Controller of pods that are bound to simulated nodes."""

    name: ClassVar[str] = "simulated-pods"

    def __init__(
        self,
        context: ControllerContext,
        stages: Sequence[Stage],
        *,
        workers: int = WORKERS,
        is_managed_elsewhere: Callable[[Tree, Tree], bool] | None = None,
        addresses: PodAddresses | None = None,
        admission: PodAdmission | None = None,
        chaos: Chaos | None = None,
        pod_events: bool = True,
    ) -> None:
        """``is_managed_elsewhere``: True if another controller, which shares ``addresses`` and ``admission``, manages a pod on its node.
        ``chaos``: failure rules; None for no failures. ``pod_events``: True to record events of the type Normal.
        """
        self._is_others: Final = is_managed_elsewhere  # set before the informers, which call ``concerns``
        super().__init__(
            context, workers=workers, addresses=addresses or PodAddresses(), admission=admission or PodAdmission()
        )
        self._chaos = chaos if chaos is not None and chaos.concerns_pods else None
        self._recorder = context.events.recorder("kubelet")
        self._started = self.clock.now()
        events = TokenBucket(_EVENTS_PER_SECOND, _EVENTS_BURST, clock=self.clock)
        self._runner = StageRunner(
            self,
            stages,
            PODS,
            self._pods,
            self._recorder,
            allows_event=events.try_take if pod_events else lambda: False,
        )
        self._dependencies = PodDependencies(self)

    def concerns(self, pod: Tree, node: Tree) -> bool:
        return self._is_others is None or not self._is_others(pod, node)

    def pod_deleted(self, pod: Tree) -> None:
        self._runner.forget(uid_of(pod))
        super().pod_deleted(pod)

    async def reconcile(self, key: str) -> Result | None:
        """Apply the transition of the pod's stage when it is due."""
        namespace, name = split_key(key)
        pod = self._pods.lister.get(name, namespace=namespace)
        node = self._node_of(pod) if pod is not None else None
        if pod is None or node is None:
            return None
        if not await self._admit(key, pod, node):
            return None
        if self._chaos is not None:
            pod = self._chaos.with_annotations(pod, node)
        pending = self._runner.stage_of(pod)
        if pending is None:
            return None
        remaining = self._runner.remaining_seconds(pending)
        if remaining > 0:
            return Result(requeue_after_seconds=remaining)
        missing: list[MissingReference] = []
        if not pod_status.is_terminating(pod):
            missing = await self._dependencies.missing(key, pod)
            if await self._must_wait(key, pod, node, missing, pending.stage):
                return Result(requeue_after_seconds=_REFERENCE_RESYNC_SECONDS)
        # The kubelet reports the first error of each container.
        errors = {reference.container: error for reference, error in reversed(missing) if reference.container}
        stage_context = self._stage_context(pod, node)._replace(config_errors=errors)
        outcome = pending.stage.transition(pod, stage_context)
        await self._runner.run(key, pod, outcome, host=name_of(node))
        return Result(requeue_after_seconds=self._recheck_seconds(outcome, errors)) if outcome.is_empty else None

    async def _admit(self, key: str, pod: Tree, node: Tree) -> bool:
        """Return True if the pod may run, or may end. Fail a pod that its node rejects, or that is preempted."""
        rejection = self._admission.admit(pod, node)
        if rejection is not None:
            self._recorder.on_host(name_of(node)).event(pod, "Warning", rejection.reason, rejection.message)
            await self._runner.write(key, pod, {"status": rejection.status(pod, now=self.clock.now())}, "status")
            return False
        if pod_status.is_terminating(pod):
            return True
        if self._admission.is_waiting(uid_of(pod)):
            return False
        if self._admission.is_preempted(uid_of(pod)):
            await self._end_preempted(key, pod, node)
            return False
        return True

    def _recheck_seconds(self, outcome: Outcome, errors: Mapping[str, str]) -> float:
        """Return the delay after a transition that changed nothing, so that no watch event requeues the pod.

        Either containers wait for their configuration, or the wall clock was behind the monotonic clock.
        """
        if not errors:
            return _UNCHANGED_SECONDS
        remaining = (outcome.due - self.clock.now()).total_seconds() if outcome.due else _REFERENCE_RESYNC_SECONDS
        return min(max(_UNCHANGED_SECONDS, remaining), _REFERENCE_RESYNC_SECONDS)

    async def _end_preempted(self, key: str, pod: Tree, node: Tree) -> None:
        """Fail a pod that is preempted by a critical one."""
        stage_context = self._stage_context(pod, node)
        status = pod_termination.finished(
            pod,
            stage_context,
            exit_code=pod_status.SIGTERM_CODE,
            reason=pod_preemption.PREEMPTING,
            message=pod_preemption.MESSAGE,
        )
        disrupted = [("DisruptionTarget", True, "TerminationByKubelet", pod_preemption.DISRUPTION_MESSAGE)]
        status["conditions"] += pod_status.conditions(pod, disrupted, now=stage_context.now)
        self._recorder.on_host(name_of(node)).event(pod, "Warning", pod_preemption.PREEMPTING, pod_preemption.MESSAGE)
        await self._runner.write(key, pod, {"status": status}, "status")

    def _stage_context(self, pod: Tree, node: Tree) -> StageContext:
        # A pod with hostNetwork has the address of its node.
        ip = "" if pod_status.spec_of(pod).get("hostNetwork") else self._address_of(pod, node)
        return StageContext(
            self.clock.now(), internal_ip(node), ip, name_of(node), kubelet_port(node), self._started, self.dice
        )

    def _report_pull_secrets(self, pod: Tree, node: Tree) -> None:
        """Record an event if Secrets for image pulls are missing; images are pulled without them."""
        missing = self._dependencies.missing_pull_secrets(pod)
        if missing:
            message = _FAILED_PULL_SECRETS.format(", ".join(missing))
            recorder = self._recorder.on_host(name_of(node))
            recorder.event(pod, "Warning", "FailedToRetrieveImagePullSecret", message)

    async def _must_wait(
        self, key: str, pod: Tree, node: Tree, missing: Sequence[MissingReference], stage: Stage
    ) -> bool:
        """Return True if the pod must wait for its volumes or its configuration, which its status and events report."""
        is_running, has_sandbox = pod_status.is_running(pod), bool(pod_status.status_of(pod).get("podIP"))
        if missing and not is_running:
            if missing[0].reference.volume and not has_sandbox:
                errors = [
                    _FAILED_MOUNT.format(reference.volume, error) for reference, error in missing if reference.volume
                ]
                await self._wait_without_sandbox(key, pod, node, errors)
                return True
            if not stage.applies_config_errors:
                await self._wait_for_configuration(key, pod, node, missing[0])
                return True
        if has_sandbox:
            return False
        unbound = {} if is_running else await self._dependencies.unbound_claims(key, pod)
        if unbound:
            await self._wait_without_sandbox(key, pod, node, [mount_failure(unbound)])
            return True
        self._report_pull_secrets(pod, node)
        return False

    async def _wait_without_sandbox(self, key: str, pod: Tree, node: Tree, messages: Iterable[str]) -> None:
        """Report the pod's containers as not created, and the volumes that cannot be mounted as events."""
        reason = "PodInitializing" if pod_status.spec_of(pod).get("initContainers") else "ContainerCreating"
        await self._wait(key, pod, node, {"reason": reason}, [("FailedMount", message) for message in messages])

    async def _wait_for_configuration(self, key: str, pod: Tree, node: Tree, missing: MissingReference) -> None:
        """Report that no container can be created, for stages that do not evaluate single containers."""
        state = {"reason": CONFIG_ERROR, "message": missing.error}
        await self._wait(key, pod, node, state, [("Failed", f"Error: {missing.error}")])

    async def _wait(self, key: str, pod: Tree, node: Tree, state: Tree, warnings: Iterable[tuple[str, str]]) -> None:
        """Write the waiting state of all containers and record events, unless it is unchanged."""
        current = pod_status.status_of(pod).get("containerStatuses") or ()
        if not current or any(status.get("state") != {"waiting": state} for status in current):
            status = pod_conditions.waiting(pod, self._stage_context(pod, node), state)
            await self._runner.write(key, pod, {"status": status}, "status")
            for reason, message in warnings:
                self._recorder.on_host(name_of(node)).event(pod, "Warning", reason, message)
