"""All that the scheduler knows and decides, without a loop: the picture of the cluster, the queue, one attempt after another.

The shell tells it what has happened and asks for the next ``Verdict``; what a verdict asks for (bind, evict, write a
condition) the shell does, and reports back.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steersman.scheduler.cycle import Cycle
from steersman.scheduler.devices.catalog import DeviceCatalog
from steersman.scheduler.framework import Fault
from steersman.scheduler.hints import change_of, pod_hint
from steersman.scheduler.messages import FitError
from steersman.scheduler.plugins.dynamic_resources import DynamicResources, Remedy, Reservation
from steersman.scheduler.plugins.volume_binding import VolumeBinding
from steersman.scheduler.preemption import Preemption
from steersman.scheduler.profiles import make_profile
from steersman.scheduler.queue import Happening, SchedulingQueue
from steersman.scheduler.snapshot import Snapshot
from steersman.scheduler.volumes import Binding, Catalog
from steersman.scheduler.workloads import Workloads

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from steersman.scheduler.configuration.settings import Settings
    from steersman.scheduler.cycle import Profile
    from steersman.scheduler.hints import Hint
    from steersman.scheduler.objects import Node, Pod
    from steersman.scheduler.pod_info import PodInfo
    from steersman.scheduler.preemption import Victims
    from steersman.scheduler.queue import QueuedPod

_log = logging.getLogger(__name__)

#: What devices have to say after a failure when an earlier rule kept them from looking at the pod.
_NOT_PREPARED: Final = "not found"


class Placed(NamedTuple):
    """A pod has a node; it is assumed there."""

    queued: QueuedPod
    profile: Profile
    node: str
    #: To be done before it is bound.
    volumes: Binding
    devices: Reservation

    @property
    def takes_steps(self) -> bool:
        """Whether anything is to be done before it is bound."""
        return any(self.volumes) or any(self.devices)


class Failed(NamedTuple):
    """A pod has none."""

    queued: QueuedPod
    profile: Profile
    message: str
    #: Whom to evict, so that it will.
    victims: Victims | None = None
    #: What may be done about its claims for devices.
    remedy: Remedy = Remedy("")
    #: Something is broken, other than that there is no room.
    is_fault: bool = False


class Brain:
    """Schedules the pods of one or more scheduler names."""

    def __init__(
        self,
        settings: Settings,
        *,
        dice: random.Random,
        monotonic: Callable[[], float],
        now: Callable[[], datetime],
    ) -> None:
        """``monotonic``: the time that waits are measured by; ``now``: the time of day, which objects tell."""
        self.cluster: Final = Snapshot()
        self.catalog: Final = Catalog()
        self.workloads: Final = Workloads()
        self.devices: Final = DeviceCatalog()
        self._volume_binding = VolumeBinding(self.catalog)
        self._dynamic = {
            profile.scheduler_name: DynamicResources(
                self.devices, profile.args[DynamicResources.name], dice=dice, now=now
            )
            for profile in settings.profiles
        }
        #: By ``schedulerName``.
        self.profiles: Final[dict[str, Profile]] = {
            profile.scheduler_name: make_profile(
                profile,
                catalog=self.catalog,
                workloads=self.workloads,
                volume_binding=self._volume_binding,
                devices=self._dynamic[profile.scheduler_name],
            )
            for profile in settings.profiles
        }
        self.queue: Final = SchedulingQueue(
            holds_back=self._holds_back,
            backoff_initial_seconds=settings.pod_initial_backoff_seconds,
            backoff_max_seconds=settings.pod_max_backoff_seconds,
            wait_max_seconds=settings.pod_max_in_unschedulable_pods_seconds,
        )
        self.cycle: Final = Cycle(self.cluster, dice=dice)
        self._preemption = Preemption(self.cluster, dice=dice)
        self._monotonic = monotonic
        #: UIDs of pods between their decision and what came of it: what was promised to them may be written yet.
        self._on_their_way: set[str] = set()

    def _holds_back(self, pod: PodInfo) -> bool:
        """Whether a pod is not worth a try yet (``PreEnqueue``)."""
        plugins = self.profiles[pod.scheduler].settings.plugins
        if pod.gates and plugins.has("preEnqueue", "SchedulingGates"):
            return True
        return plugins.has("preEnqueue", DynamicResources.name) and bool(self._dynamic[pod.scheduler].holds_back(pod))

    # What has happened

    def happened(self, happening: Happening, helps: Hint = lambda _, __: True) -> None:
        """Something that pods may have waited for."""
        self.queue.happened(happening, self._monotonic(), helps=helps)

    def set_node(self, node: Node) -> None:
        """A node is new, or has changed."""
        name = node.metadata.name
        known = self.cluster.get(name) is not None
        if not self.cluster.set_node(node):
            return
        info = self.cluster.get(name)
        assert info is not None

        def helps(_: str, pod: PodInfo) -> bool:
            verdicts = self.profiles[pod.scheduler].verdicts
            rejection = verdicts.judge(pod, info, verdicts.of(pod)).rejection
            return rejection is None or rejection.resolvable

        self.happened(Happening.NODE_CHANGED if known else Happening.NODE_ADDED, helps)

    def remove_node(self, name: str) -> None:
        """A node is gone."""
        self.cluster.remove_node(name)
        self.happened(Happening.NODE_GONE)

    def pod_placed(self, pod: Pod) -> None:
        """The cluster says that a pod is on a node, or has changed there."""
        uid = pod.metadata.uid
        self.queue.remove(uid)
        self.cycle.withdraw(uid)
        before = None if self.cluster.is_assumed(uid) else self.cluster.pod(uid)
        self.cluster.set_pod(pod)
        after = self.cluster.pod(uid)
        if after is None:
            if before is not None:
                self._pod_happened(Happening.POD_LEFT, before)
        elif before is None:
            self._pod_happened(Happening.POD_ARRIVED, after)
        else:
            happening = change_of(before, after)
            if happening is not None:
                self._pod_happened(happening, after)

    def _pod_happened(self, happening: Happening, pod: PodInfo) -> None:
        self.happened(happening, pod_hint(pod, happening, self.cluster.namespace_labels))

    def pod_waits(self, pod: PodInfo) -> None:
        """A pod has no node."""
        if pod.scheduler not in self.profiles or self.cluster.is_assumed(pod.uid):
            return
        known = self.queue.pod(pod.uid)
        # What its status says counts when it is new: it may be older than what was decided here since.
        if pod.nominated_node and (known is None or known.nominated_node != pod.nominated_node):
            self.cycle.nominate(pod, pod.nominated_node)
        elif known is not None and known.nominated_node and not pod.nominated_node:
            self.cycle.withdraw(pod.uid)
        self.queue.add(pod, self._monotonic())

    def pod_gone(self, uid: str) -> None:
        """A pod was deleted, or has ended without ever having had a node."""
        self.queue.remove(uid)
        self.cycle.withdraw(uid)
        if uid not in self._on_their_way:
            self.devices.settle_promise(uid)
        pod = self.cluster.pod(uid)
        if pod is not None:
            self.cluster.remove_pod(uid)
            self._pod_happened(Happening.POD_LEFT, pod)

    def set_device_class(self, name: str, class_: Any) -> None:
        """A class of devices as it is now; None when it is gone."""
        if self.devices.put_class(name, class_):
            for profile in self.profiles.values():
                profile.verdicts.forget()
        self.happened(Happening.DEVICE_CLASS)

    # What to do

    def attempt(self, budgets: Sequence[Any]) -> Placed | Failed | None:
        """Try the next pod; None when none may be tried now. ``budgets``: the PodDisruptionBudgets there are."""
        queued = self.queue.pop(self._monotonic())
        if queued is None:
            return None
        profile = self.profiles[queued.pod.scheduler]
        try:
            return self._decide(queued, profile, budgets)
        except Fault as fault:
            text = str(fault)
        except Exception as error:  # noqa: BLE001 — one pod's trouble must not keep the others waiting
            _log.exception("pod %s could not be scheduled", queued.pod.key)
            text = f"{type(error).__name__}: {error}"
        self.queue.failed(queued, frozenset(), self._monotonic())
        return Failed(queued, profile, text, is_fault=True)

    def _decide(self, queued: QueuedPod, profile: Profile, budgets: Sequence[Any]) -> Placed | Failed:
        pod = queued.pod
        try:
            decision = self.cycle.schedule(pod, profile)
        except FitError as failure:
            return self._no_node(queued, profile, failure, budgets)
        plugins = profile.settings.plugins
        volumes, devices = Binding(), Reservation()
        if pod.claims and plugins.has("reserve", VolumeBinding.name):
            volumes = self._volume_binding.binding(pod, self.cluster, decision.node)
        for claim, volume in volumes.static:
            self.catalog.reserved[volume.metadata.name] = f"{claim.metadata.namespace}/{claim.metadata.name}"
        if plugins.has("reserve", DynamicResources.name):
            devices = self._dynamic[profile.name].reservation(pod, self.cluster, decision.node)
        self.cycle.withdraw(pod.uid)
        self.cluster.assume(pod, decision.node.name)
        self._on_their_way.add(pod.uid)
        return Placed(queued, profile, decision.node.name, volumes, devices)

    def _no_node(self, queued: QueuedPod, profile: Profile, failure: FitError, budgets: Sequence[Any]) -> Failed:
        victims, remedy = None, Remedy("")
        words: list[str] = []
        for name in profile.settings.plugins.points["postFilter"] if failure.nodes else ():
            if name != DynamicResources.name:
                outcome = self._preemption.find(queued.pod, profile, failure, self.cycle.nominations, budgets)
                victims = outcome.victims
                words.append(outcome.message)
            elif failure.blocked and failure.blocked_by != name:
                words.append(_NOT_PREPARED)
                break  # an error upstream, which ends it
            else:
                remedy = self._dynamic[profile.name].after_failure(queued.pod, self.cluster)
                words.append(remedy.words)
            if victims is not None:
                break
        if victims is not None:
            self.cycle.nominate(queued.pod, victims.node)
        # Without a single node no rule was asked; any node helps then.
        blockers = failure.plugins or frozenset({"NodeName"})
        self.queue.failed(queued, blockers, self._monotonic())
        message = failure.message("" if victims is not None else ", ".join(words))
        return Failed(queued, profile, message, victims, remedy)

    def outranked(self, pod: PodInfo, node: str) -> list[PodInfo]:
        """Less important pods that were promised the node too: they give up their claim."""
        others = [each for each in self.cycle.nominations.get(node, {}).values() if each.priority < pod.priority]
        for other in others:
            self.cycle.withdraw(other.uid)
            self.queue.activate([other.uid], self._monotonic())
        return others

    # What came of it

    def bound(self, placed: Placed) -> None:
        """The binding was accepted; the room stays taken until the cluster says the same."""
        self.queue.remove(placed.queued.pod.uid)
        self._release(placed)

    def not_bound(self, placed: Placed) -> None:
        """The binding failed: the room is free again, and the pod will be tried again."""
        pod = placed.queued.pod
        self.devices.settle_promise(pod.uid)
        self._release(placed)
        if self.cluster.is_assumed(pod.uid):
            self.cluster.forget(pod)
            self._pod_happened(Happening.POD_LEFT, pod)
        self.queue.failed(placed.queued, frozenset(), self._monotonic())

    def _release(self, placed: Placed) -> None:
        self._on_their_way.discard(placed.queued.pod.uid)
        for _, volume in placed.volumes.static:
            self.catalog.reserved.pop(volume.metadata.name, None)
        for claim, _ in placed.devices.allocate:
            self.devices.settle(claim)
        if placed.devices.allocate or placed.devices.extended is not None:
            self.happened(Happening.DEVICES)
