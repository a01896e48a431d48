"""Synchronous core of the scheduler: cluster snapshot, scheduling queue and one scheduling cycle at a time.

The event handlers feed cluster changes in; ``Scheduler`` requests the next attempt, performs the I/O that its result
calls for (bind, evict, update conditions) and reports the outcome back. This module starts no task and sends no
request.
"""

from __future__ import annotations

import logging
from functools import partial, reduce
from operator import or_
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steersman.apimachinery.gotext import quote
from steersman.scheduler.cycle import SchedulingCycle
from steersman.scheduler.devices.catalog import DeviceCatalog
from steersman.scheduler.fit_error import FitError
from steersman.scheduler.framework import PluginError, PluginRejection
from steersman.scheduler.hints import NodeHintContext, node_queueing_hint, pod_queueing_hint, pod_update_events
from steersman.scheduler.plugins.dynamic_resources import DynamicResources, PostFilterResult, Reservation
from steersman.scheduler.plugins.volume_binding import VolumeBinding
from steersman.scheduler.preemption import Preemption
from steersman.scheduler.profile import make_profile
from steersman.scheduler.queue import NO_OBJECT, ClusterEvent, ObjectChange, SchedulingQueue
from steersman.scheduler.snapshot import Snapshot
from steersman.scheduler.volumes import Binding, VolumeCatalog
from steersman.scheduler.workloads import Workloads

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from steersman.scheduler.configuration.settings import ProfileSettings, Settings
    from steersman.scheduler.framework import Extenders, Rejection, Victims
    from steersman.scheduler.hints import QueueingHint
    from steersman.scheduler.objects import Node, Pod
    from steersman.scheduler.out_of_tree.runtime import PluginRuntime
    from steersman.scheduler.out_of_tree.waiting import PermitWait
    from steersman.scheduler.pod_info import PodInfo
    from steersman.scheduler.profile import Profile
    from steersman.scheduler.queue import QueuedPod

_log = logging.getLogger(__name__)

#: Message of the DynamicResources PostFilter when its PreFilter did not run because an earlier plugin rejected the pod.
_PREFILTER_DID_NOT_RUN: Final = "not found"


class AssumedPod(NamedTuple):
    """A pod that was assumed on a node and is to be bound."""

    queued: QueuedPod
    profile: Profile
    node: str
    #: Work of the PreBind plugins.
    volumes: Binding
    devices: Reservation
    #: Set while Permit plugins delay the binding.
    wait: PermitWait | None = None

    @property
    def needs_pre_bind(self) -> bool:
        """True if PreBind plugins have work to do."""
        runtime = self.profile.runtime
        return any(self.volumes) or any(self.devices) or (runtime is not None and runtime.has_pre_bind)


class UnschedulablePod(NamedTuple):
    """A pod that fits on no node."""

    queued: QueuedPod
    profile: Profile
    message: str
    #: Pods to evict; None without preemption.
    victims: Victims | None = None
    #: Result of the DynamicResources PostFilter plugin.
    post_filter_result: PostFilterResult = PostFilterResult("")
    #: True for an internal error, False if the pod is unschedulable.
    is_fault: bool = False
    #: Node that an out-of-tree PostFilter plugin nominated.
    nominated_node: str = ""


class _AttemptAbandoned(Exception):  # noqa: N818 — a result, not an error
    """The pod left the queue during its attempt."""


class SchedulerCore:
    """Scheduling state and decisions for the pods of one or more profiles."""

    def __init__(
        self,
        settings: Settings,
        *,
        dice: random.Random,
        monotonic: Callable[[], float],
        now: Callable[[], datetime],
        extenders: Extenders | None = None,
        make_plugins: Callable[[ProfileSettings, SchedulerCore], PluginRuntime | None] = lambda _, __: None,
    ) -> None:
        """``monotonic`` measures backoffs in seconds; ``now`` is compared with timestamps of objects. ``make_plugins``
        creates the out-of-tree plugins of a profile.
        """
        self.cluster: Final = Snapshot()
        self.catalog: Final = VolumeCatalog()
        self.workloads: Final = Workloads()
        self.devices: Final = DeviceCatalog()
        self._volume_binding = VolumeBinding(self.catalog)
        self._dynamic = {
            profile.scheduler_name: DynamicResources(
                self.devices, profile.args[DynamicResources.name], dice=dice, now=now
            )
            for profile in settings.profiles
        }
        #: Keyed by ``schedulerName``.
        self.profiles: Final[dict[str, Profile]] = {
            profile.scheduler_name: make_profile(
                profile,
                catalog=self.catalog,
                workloads=self.workloads,
                volume_binding=self._volume_binding,
                devices=self._dynamic[profile.scheduler_name],
                runtime=make_plugins(profile, self),
            )
            for profile in settings.profiles
        }
        runtimes = [profile.runtime for profile in self.profiles.values() if profile.runtime is not None]
        #: True if a profile has out-of-tree plugins.
        self.has_plugins: Final = bool(runtimes)
        #: Pods that wait for Permit plugins, by UID.
        self.waiting_pods: Final[dict[str, PermitWait]] = {}
        self.queue: Final = SchedulingQueue(
            is_gated=self._is_gated,
            backoff_initial_seconds=settings.pod_initial_backoff_seconds,
            backoff_max_seconds=settings.pod_max_backoff_seconds,
            wait_max_seconds=settings.pod_max_in_unschedulable_pods_seconds,
            sort_key=next((key for runtime in runtimes if (key := runtime.sort_key()) is not None), None),
            events_to_register={
                name: events for runtime in runtimes for name, events in runtime.event_registrations().items()
            },
            gate_events=reduce(or_, (runtime.gate_events for runtime in runtimes), ClusterEvent.DEVICES),
        )
        self.cycle: Final = SchedulingCycle(self.cluster, dice=dice, extenders=extenders)
        self._preemption = Preemption(self.cluster, dice=dice, extenders=extenders)
        #: True if the cluster may change during an attempt.
        self._is_suspendable = extenders is not None or bool(runtimes)
        self._monotonic = monotonic
        #: UIDs of pods that are assumed and not yet bound or released; their pending claims may still be
        #: written.
        self._binding_uids: set[str] = set()

    def _is_gated(self, pod: PodInfo) -> bool:
        """Report whether a PreEnqueue plugin keeps the pod out of the active queue."""
        runtime = self.profiles[pod.scheduler].runtime
        if runtime is not None and runtime.is_gated(pod):
            return True
        plugins = self.profiles[pod.scheduler].settings.plugins
        if pod.gates and plugins.has("preEnqueue", "SchedulingGates"):
            return True
        return plugins.has("preEnqueue", DynamicResources.name) and bool(self._dynamic[pod.scheduler].pre_enqueue(pod))

    # Cluster events

    def on_cluster_event(
        self,
        event: ClusterEvent,
        hint: QueueingHint = lambda _, __: True,
        *,
        change: ObjectChange = NO_OBJECT,
        own_uid: str = "",
    ) -> None:
        """Requeue unschedulable pods that the event may make schedulable.

        ``hint`` is that of the plugins in tree; out-of-tree ones receive the ``change``. ``own_uid``: UID of the pod in
        flight that causes the event.
        """
        if self.has_plugins:
            hint = partial(self._hint, event, hint, change)
        self.queue.on_cluster_event(event, self._monotonic(), hint=hint, own_uid=own_uid)

    def _hint(
        self, event: ClusterEvent, in_tree: QueueingHint, change: ObjectChange, blocker: str, pod: PodInfo
    ) -> bool:
        """Return the queueing hint of a plugin in tree or out of tree."""
        runtime = self.profiles[pod.scheduler].runtime
        if runtime is None or not runtime.has(blocker):
            return in_tree(blocker, pod)
        return runtime.hint(blocker, pod, event, change)

    def activate(self, uids: Iterable[str]) -> None:
        """Requeue these pods if they are unschedulable."""
        self.queue.activate(uids, self._monotonic())

    def set_node(self, node: Node) -> None:
        """Add or update a node."""
        name = node.metadata.name
        info = self.cluster.get(name)
        before = info.node if info is not None else None
        changed = self.cluster.set_node(node) or (self.has_plugins and _annotations_differ(before, node))
        if not changed or not (self.queue.awaits_events or self.has_plugins):
            return
        context = NodeHintContext(
            lambda pod: self.profiles[pod.scheduler].local_filters, self.cluster.existing_anti_affinity
        )
        hint = node_queueing_hint(before, node, context)
        event = ClusterEvent.NODE_ADDED if before is None else ClusterEvent.NODE_CHANGED
        self.on_cluster_event(event, hint, change=ObjectChange(before, node))

    def remove_node(self, name: str) -> None:
        """Remove a deleted node."""
        info = self.cluster.get(name)
        before = info.node if info is not None else None
        self.cluster.remove_node(name)
        self.on_cluster_event(ClusterEvent.NODE_GONE, change=ObjectChange(before))

    def set_assigned_pod(self, pod: Pod) -> None:
        """Add or update a pod with ``spec.nodeName``; it replaces the assumed pod."""
        uid = pod.metadata.uid
        self.queue.remove(uid)
        self.cycle.remove_nomination(uid)
        before = None if self.cluster.is_assumed(uid) else self.cluster.pod(uid)
        self.cluster.set_pod(pod)
        after = self.cluster.pod(uid)
        if after is None:
            if before is not None:
                self._on_pod_event(ClusterEvent.POD_LEFT, before)
        elif before is None:
            self._on_pod_event(ClusterEvent.POD_ARRIVED, after)
        else:
            event = pod_update_events(before, after)
            if event is not None:
                self._on_pod_event(event, after, before)

    def _on_pod_event(self, event: ClusterEvent, pod: PodInfo, before: PodInfo | None = None) -> None:
        hint = pod_queueing_hint(pod, event, self.cluster.namespace_labels, before)
        old = before.pod if before is not None else None
        change = ObjectChange(pod.pod) if event & ClusterEvent.POD_LEFT else ObjectChange(old, pod.pod)
        self.on_cluster_event(event, hint, change=change, own_uid=pod.uid)

    def set_pending_pod(self, pod: PodInfo) -> None:
        """Add or update a pending pod in the queue."""
        if pod.scheduler not in self.profiles or self.cluster.is_assumed(pod.uid):
            return
        queued_pod = self.queue.pod(pod.uid)
        # The nomination in the status counts for new pods only: later it may be older than a decision made here.
        if pod.nominated_node and (queued_pod is None or queued_pod.nominated_node != pod.nominated_node):
            self.cycle.add_nomination(pod, pod.nominated_node)
        elif queued_pod is not None and queued_pod.nominated_node and not pod.nominated_node:
            self.cycle.remove_nomination(pod.uid)
        self.queue.add(pod, self._monotonic())

    def remove_deleted_pod(self, uid: str) -> None:
        """Remove a pod that was deleted, or that terminated without having been scheduled."""
        self.queue.remove(uid)
        self.cycle.remove_nomination(uid)
        if uid not in self._binding_uids:
            self.devices.remove_pending_for_pod(uid)
        wait = self.waiting_pods.get(uid)
        if wait is not None:
            wait.reject("", "removed")
        pod = self.cluster.pod(uid)
        if pod is not None:
            self.cluster.remove_pod(uid)
            self._on_pod_event(ClusterEvent.POD_LEFT, pod)

    def set_device_class(self, name: str, class_: Any) -> None:
        """Add or update a DeviceClass; ``class_`` None deletes it."""
        if self.devices.put_class(name, class_):
            for profile in self.profiles.values():
                profile.node_results.clear()
        self.on_cluster_event(ClusterEvent.DEVICE_CLASS)

    # Scheduling

    async def schedule_one(self, budgets: Sequence[Any]) -> AssumedPod | UnschedulablePod | None:
        """Run one scheduling cycle for the next active pod; None if the active queue is empty.

        It is suspended only while extenders respond. ``budgets``: all PodDisruptionBudgets.
        """
        while (queued := self.queue.pop(self._monotonic())) is not None:
            if self._is_suspendable:
                self.queue.record_events_for(queued)
            result = await self._attempt(queued, budgets)
            if result is not None:
                return result
        return None

    async def _attempt(self, queued: QueuedPod, budgets: Sequence[Any]) -> AssumedPod | UnschedulablePod | None:
        """Run the scheduling cycle for a pod; None if the pod was deleted or assigned meanwhile."""
        profile = self.profiles[queued.pod.scheduler]
        if profile.runtime is not None:
            profile.runtime.begin(queued.pod)
        try:
            return await self._decide(queued, profile, budgets)
        except _AttemptAbandoned:
            return None
        except PluginError as fault:
            text = str(fault)
        except Exception as error:  # noqa: BLE001 — an error of one pod must not stop the loop
            _log.exception("pod %s could not be scheduled", queued.pod.key)
            text = f"{type(error).__name__}: {error}"
        if not self.queue.has(queued):
            return None
        self.queue.add_unschedulable(queued, frozenset(), self._monotonic())
        return UnschedulablePod(queued, profile, text, is_fault=True)

    def _require_pending(self, queued: QueuedPod) -> None:
        """Raise ``_AttemptAbandoned`` if the pod was deleted or assigned while extenders responded."""
        if not self.queue.has(queued):
            raise _AttemptAbandoned

    async def _decide(
        self, queued: QueuedPod, profile: Profile, budgets: Sequence[Any]
    ) -> AssumedPod | UnschedulablePod:
        pod = queued.pod
        try:
            decision = await self.cycle.schedule(pod, profile)
        except FitError as failure:
            self._require_pending(queued)
            return await self._no_node(queued, profile, failure, budgets)
        self._require_pending(queued)
        if decision.node.node is None:
            raise PluginError(f"nodeinfo not found for node name {quote(decision.node.name)}")
        plugins = profile.settings.plugins
        volumes, devices = Binding(), Reservation()
        if pod.claims and plugins.has("reserve", VolumeBinding.name):
            volumes = self._volume_binding.binding(pod, self.cluster, decision.node)
        for claim, volume in volumes.static:
            self.catalog.reserved[volume.metadata.name] = f"{claim.metadata.namespace}/{claim.metadata.name}"
        if plugins.has("reserve", DynamicResources.name):
            devices = self._dynamic[profile.name].reservation(pod, self.cluster, decision.node)
        self.cycle.remove_nomination(pod.uid)
        self.cluster.assume(pod, decision.node.name)
        self._binding_uids.add(pod.uid)
        placed = AssumedPod(queued, profile, decision.node.name, volumes, devices)
        return placed if profile.runtime is None else self._reserve(placed, profile.runtime)

    def _reserve(self, placed: AssumedPod, runtime: PluginRuntime) -> AssumedPod | UnschedulablePod:
        """Run the out-of-tree Reserve and Permit plugins for an assumed pod. Raises ``PluginError``."""
        pod = placed.queued.pod
        try:
            runtime.reserve(pod, placed.node)
            wait = runtime.permit(pod, placed.node)
        except PluginRejection as rejected:
            return self.reject_assumed(placed, rejected.rejection)
        except PluginError:
            self._forget(placed)
            raise
        if wait is not None:
            self.waiting_pods[pod.uid] = wait
        return placed._replace(wait=wait)

    def reject_assumed(self, placed: AssumedPod, rejection: Rejection) -> UnschedulablePod:
        """Forget an assumed pod that a plugin rejected; it is retried after an event that the plugin registers."""
        self._forget(placed)
        self.queue.add_unschedulable(placed.queued, frozenset({rejection.plugin}), self._monotonic())
        message = FitError(1, {placed.node: rejection}).message()
        return UnschedulablePod(placed.queued, placed.profile, message)

    async def _no_node(
        self, queued: QueuedPod, profile: Profile, failure: FitError, budgets: Sequence[Any]
    ) -> UnschedulablePod:
        victims, post_filter_result, nominated = None, PostFilterResult(""), ""
        messages: list[str] = []
        runtime = profile.runtime
        for name in profile.settings.plugins.points["postFilter"] if failure.nodes else ():
            if runtime is not None and runtime.has(name):
                try:
                    nominated, message = await runtime.post_filter(name, queued.pod, failure)
                except PluginError as error:
                    messages.append(str(error))
                    break  # as below
                self._require_pending(queued)
                messages += [message] if message else []
            elif name != DynamicResources.name:
                preemption = await self._preemption.preempt(
                    queued.pod, profile, failure, self.cycle.nominations, budgets
                )
                self._require_pending(queued)
                victims = preemption.victims
                messages.append(preemption.message)
            elif failure.blocked and failure.blocked_by != name:
                messages.append(_PREFILTER_DID_NOT_RUN)
                break  # upstream returns an error status here, which ends the PostFilter plugins
            else:
                post_filter_result = self._dynamic[profile.name].post_filter(queued.pod, self.cluster)
                messages.append(post_filter_result.message)
            nominated = victims.node if victims is not None else nominated
            if nominated:
                break
        if nominated:
            self.cycle.add_nomination(queued.pod, nominated)
        # Without nodes no plugin ran: any new node makes the pod schedulable.
        unschedulable_plugins = failure.plugins or frozenset({"NodeName"})
        self.queue.add_unschedulable(queued, unschedulable_plugins, self._monotonic())
        message = failure.message("" if nominated else ", ".join(messages))
        return UnschedulablePod(queued, profile, message, victims, post_filter_result, nominated_node=nominated)

    def clear_lower_priority_nominations(self, pod: PodInfo, node: str) -> list[PodInfo]:
        """Clear nominations of lower-priority pods to ``node``, requeue these pods and return them.

        Upstream: ``getLowerPriorityNominatedPods``.
        """
        others = [
            nominated
            for nominated in self.cycle.nominations.get(node, {}).values()
            if nominated.priority < pod.priority
        ]
        for other in others:
            self.cycle.remove_nomination(other.uid)
            self.queue.activate([other.uid], self._monotonic())
        return others

    # Binding results

    def binding_succeeded(self, placed: AssumedPod) -> None:
        """Finish a successful binding; the pod stays assumed until the watch confirms it."""
        self.queue.remove(placed.queued.pod.uid)
        self._release(placed)
        runtime = placed.profile.runtime
        if runtime is not None:
            runtime.post_bind(placed.queued.pod, placed.node)
            runtime.end(placed.queued.pod)

    def binding_failed(self, placed: AssumedPod) -> None:
        """Forget the assumed pod after a failed binding and requeue it."""
        self._forget(placed)
        self.queue.add_unschedulable(placed.queued, frozenset(), self._monotonic())

    def _forget(self, placed: AssumedPod) -> None:
        """Release everything that is reserved for an assumed pod."""
        pod, runtime = placed.queued.pod, placed.profile.runtime
        if runtime is not None:
            runtime.unreserve(pod, placed.node)
            runtime.end(pod)
        self.devices.remove_pending_for_pod(pod.uid)
        self._release(placed)
        if self.cluster.is_assumed(pod.uid):
            self.cluster.forget(pod)
            self._on_pod_event(ClusterEvent.POD_LEFT, pod)

    def _release(self, placed: AssumedPod) -> None:
        self._binding_uids.discard(placed.queued.pod.uid)
        self.waiting_pods.pop(placed.queued.pod.uid, None)
        for _, volume in placed.volumes.static:
            self.catalog.reserved.pop(volume.metadata.name, None)
        for claim, _ in placed.devices.allocate:
            self.devices.remove_pending(claim)
        if placed.devices.allocate or placed.devices.extended is not None:
            self.on_cluster_event(ClusterEvent.DEVICES)


def _annotations_differ(before: Any, after: Any) -> bool:
    """Report whether a node's annotations, which plugins in tree do not read, differ."""
    return before is not None and (before.metadata.annotations or {}) != (after.metadata.annotations or {})
