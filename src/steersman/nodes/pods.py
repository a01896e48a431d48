"""Controller of the pods on simulated nodes: runs each pod through its stages, as the nodes' kubelets would."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

from lightkube.models.core_v1 import ConfigMap, Secret

from steersman.asynckit.ratelimit import TokenBucket
from steersman.client import tree
from steersman.client.changes import Deleted
from steersman.client.errors import NotFound
from steersman.client.objects import key_of, name_of, namespace_of, split_key, uid_of
from steersman.client.partial_metadata import metadata_only
from steersman.nodes import pod_conditions, pod_preemption, pod_status, pod_termination
from steersman.nodes.bound_pods import PODS, BoundPodController
from steersman.nodes.claims import claim_error, claim_volumes, mount_failure
from steersman.nodes.node_object import internal_ip, kubelet_port
from steersman.nodes.object_keys import UNKNOWN, ObjectKeyReader
from steersman.nodes.pod_addresses import PodAddresses
from steersman.nodes.pod_admission import PodAdmission
from steersman.nodes.references import missing_pull_secrets, missing_references, references
from steersman.nodes.simulation.containers import CONFIG_ERROR
from steersman.nodes.stage_runner import StageRunner
from steersman.nodes.stages import StageContext
from steersman.runtime.result import Result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.client.changes import Change
    from steersman.nodes.chaos.rules import Chaos
    from steersman.nodes.object_keys import Keys
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
_CLAIM: Final = "PersistentVolumeClaim"
_CLAIMS: Final = tree("v1", _CLAIM)
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
        #: Keys of pods that wait for a missing object or a key of it, by the object's kind and key.
        self._waiting: dict[tuple[str, str], dict[str, None]] = {}
        events = TokenBucket(_EVENTS_PER_SECOND, _EVENTS_BURST, clock=self.clock)
        self._runner = StageRunner(
            self,
            stages,
            PODS,
            self._pods,
            self._recorder,
            allows_event=events.try_take if pod_events else lambda: False,
        )
        self._object_keys = ObjectKeyReader(self.client)
        self._config_maps = self.informer(metadata_only(ConfigMap))
        self._secrets = self.informer(metadata_only(Secret))
        self._claims = self.informer(_CLAIMS)
        informers = (("ConfigMap", self._config_maps), ("Secret", self._secrets), (_CLAIM, self._claims))
        for kind, informer in informers:
            informer.add_callback(partial(self._reference_changed, kind))

    def concerns(self, pod: Tree, node: Tree) -> bool:
        return self._is_others is None or not self._is_others(pod, node)

    def pod_deleted(self, pod: Tree) -> None:
        self._runner.forget(uid_of(pod))
        super().pod_deleted(pod)

    def _reference_changed(self, kind: str, change: Change[Any]) -> None:
        if isinstance(change, Deleted):
            self._object_keys.forget(kind, key_of(change.latest))
            return
        for key in self._waiting.pop((kind, key_of(change.latest)), ()):
            self.queue.add(key)

    async def reconcile(self, key: str) -> Result | None:
        """Apply the transition of the pod's stage when it is due."""
        namespace, name = split_key(key)
        pod = self._pods.lister.get(name, namespace=namespace)
        node = self._node_of(pod) if pod is not None else None
        if pod is None or node is None:
            return None
        rejection = self._admission.admit(pod, node)
        if rejection is not None:
            self._recorder.on_host(name_of(node)).event(pod, "Warning", rejection.reason, rejection.message)
            await self._runner.write(key, pod, {"status": rejection.status(pod, now=self.clock.now())}, "status")
            return None
        if not pod_status.is_terminating(pod):
            if self._admission.is_waiting(uid_of(pod)):
                return None
            if self._admission.is_preempted(uid_of(pod)):
                await self._end_preempted(key, pod, node)
                return None
        if self._chaos is not None:
            pod = self._chaos.with_annotations(pod, node)
        pending = self._runner.stage_of(pod)
        if pending is None:
            return None
        remaining = self._runner.remaining_seconds(pending)
        if remaining > 0:
            return Result(requeue_after_seconds=remaining)
        missing = []
        if not pod_status.is_terminating(pod):
            missing = missing_references(pod, await self._keys_of_references(key, pod))
        self._await_objects(key, namespace, [(reference.kind, reference.name) for reference, _ in missing])
        if missing and not pod_status.is_running(pod):
            if missing[0].reference.volume and not pod_status.status_of(pod).get("podIP"):
                return await self._wait_for_volumes(key, pod, node, missing)
            if not pending.stage.applies_config_errors:
                return await self._wait_for_configuration(key, pod, node, missing[0])
        if not pod_status.is_terminating(pod) and not pod_status.status_of(pod).get("podIP"):
            unbound = {} if pod_status.is_running(pod) else await self._unbound_claims(key, pod)
            if unbound:
                return await self._wait_without_sandbox(key, pod, node, [mount_failure(unbound)])
            self._report_pull_secrets(pod, node)
        # The kubelet reports the first error of each container.
        errors = {reference.container: error for reference, error in reversed(missing) if reference.container}
        stage_context = self._stage_context(pod, node)._replace(config_errors=errors)
        outcome = pending.stage.transition(pod, stage_context)
        await self._runner.run(key, pod, outcome, host=name_of(node))
        return Result(requeue_after_seconds=self._recheck_seconds(outcome, errors)) if outcome.is_empty else None

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

    async def _keys_of_references(self, key: str, pod: Tree) -> dict[tuple[str, str], Keys]:
        """Return the keys of existing objects that the pod refers to, by kind and name; read only if a key is required.

        An object that changes during the reads requeues the pod.
        """
        namespace = namespace_of(pod)
        keys: dict[tuple[str, str], Keys] = {
            (reference.kind, reference.name): UNKNOWN
            for reference in references(pod)
            if self._exists(reference.kind, namespace, reference.name)
        }
        keyed = list(dict.fromkeys((reference.kind, reference.name) for reference in references(pod) if reference.key))
        self._await_objects(key, namespace, keyed)
        try:
            for kind, name in keyed:
                metadata = self._object(kind, namespace, name)
                read = None if metadata is None else await self._object_keys.keys(kind, metadata)
                if read is None:
                    keys.pop((kind, name), None)
                else:
                    keys[kind, name] = read
        finally:
            self._forget_waiting(key, namespace, keyed)
        return keys

    def _object(self, kind: str, namespace: str, name: str) -> Any | None:
        informer = self._secrets if kind == "Secret" else self._config_maps
        return informer.lister.get(name, namespace=namespace)

    def _exists(self, kind: str, namespace: str, name: str) -> bool:
        return self._object(kind, namespace, name) is not None

    def _report_pull_secrets(self, pod: Tree, node: Tree) -> None:
        """Record an event if Secrets for image pulls are missing; images are pulled without them."""
        missing = missing_pull_secrets(pod, self._exists)
        if missing:
            message = _FAILED_PULL_SECRETS.format(", ".join(missing))
            recorder = self._recorder.on_host(name_of(node))
            recorder.event(pod, "Warning", "FailedToRetrieveImagePullSecret", message)

    def _await_objects(self, key: str, namespace: str, objects: Iterable[tuple[str, str]]) -> None:
        """Requeue the pod when one of the objects is created or changes."""
        for kind, name in objects:
            self._waiting.setdefault((kind, f"{namespace}/{name}"), {})[key] = None

    def _forget_waiting(self, key: str, namespace: str, objects: Iterable[tuple[str, str]]) -> None:
        for kind, name in objects:
            place = kind, f"{namespace}/{name}"
            waiting = self._waiting.get(place, {})
            waiting.pop(key, None)
            if not waiting:
                self._waiting.pop(place, None)

    async def _unbound_claims(self, key: str, pod: Tree) -> dict[str, str]:
        """Return the errors of claims that are not bound, by volume, and requeue the pod when such a claim changes."""
        namespace = namespace_of(pod)
        errors: dict[str, str] = {}
        for volume in claim_volumes(pod):
            claim = self._claims.lister.get(volume.claim, namespace=namespace)
            if not claim_error(claim, volume, pod):
                continue
            self._await_objects(key, namespace, [(_CLAIM, volume.claim)])
            try:  # the cache may be behind the binding of the pod
                claim = await self.client.get(_CLAIMS, volume.claim, namespace=namespace)
            except NotFound:
                claim = None
            error = claim_error(claim, volume, pod)
            if error:
                errors[volume.volume] = error
            else:
                self._forget_waiting(key, namespace, [(_CLAIM, volume.claim)])
        return errors

    async def _wait_for_volumes(self, key: str, pod: Tree, node: Tree, missing: Iterable[MissingReference]) -> Result:
        messages = [_FAILED_MOUNT.format(reference.volume, error) for reference, error in missing if reference.volume]
        return await self._wait_without_sandbox(key, pod, node, messages)

    async def _wait_without_sandbox(self, key: str, pod: Tree, node: Tree, messages: Iterable[str]) -> Result:
        """Report the pod's containers as not created, and the volumes that cannot be mounted as events."""
        reason = "PodInitializing" if pod_status.spec_of(pod).get("initContainers") else "ContainerCreating"
        return await self._wait(key, pod, node, {"reason": reason}, [("FailedMount", message) for message in messages])

    async def _wait_for_configuration(self, key: str, pod: Tree, node: Tree, missing: MissingReference) -> Result:
        """Report that no container can be created, for stages that do not evaluate single containers."""
        state = {"reason": CONFIG_ERROR, "message": missing.error}
        return await self._wait(key, pod, node, state, [("Failed", f"Error: {missing.error}")])

    async def _wait(self, key: str, pod: Tree, node: Tree, state: Tree, warnings: Iterable[tuple[str, str]]) -> Result:
        """Write the waiting state of all containers and record events, unless it is unchanged."""
        current = pod_status.status_of(pod).get("containerStatuses") or ()
        if not current or any(status.get("state") != {"waiting": state} for status in current):
            status = pod_conditions.waiting(pod, self._stage_context(pod, node), state)
            await self._runner.write(key, pod, {"status": status}, "status")
            for reason, message in warnings:
                self._recorder.on_host(name_of(node)).event(pod, "Warning", reason, message)
        return Result(requeue_after_seconds=_REFERENCE_RESYNC_SECONDS)
