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
from steersman.scheduler.messages import FitError
from steersman.scheduler.plugins.dynamic_resources import DynamicResources, Reservation
from steersman.scheduler.plugins.volume_binding import VolumeBinding
from steersman.scheduler.preemption import Preemption
from steersman.scheduler.profiles import default_profile
from steersman.scheduler.queue import Happening, SchedulingQueue
from steersman.scheduler.snapshot import Snapshot
from steersman.scheduler.volumes import Binding, Catalog
from steersman.scheduler.workloads import Workloads

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

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
    message: str
    #: Whom to evict, so that it will.
    victims: Victims | None = None
    #: A claim for devices whose devices are to be given back.
    deallocate: Any = None
    #: Something is broken, other than that there is no room.
    is_fault: bool = False


class Brain:
    """Schedules the pods of one scheduler name."""

    def __init__(
        self, *, dice: random.Random, monotonic: Callable[[], float], names: frozenset[str], share: int = 0
    ) -> None:
        """``names``: the ``schedulerName``s that pods ask for this one by. ``share``: see ``Cycle``."""
        self.cluster: Final = Snapshot()
        self.catalog: Final = Catalog()
        self.workloads: Final = Workloads()
        self.devices: Final = DeviceCatalog()
        self._volume_binding = VolumeBinding(self.catalog)
        self._dynamic = DynamicResources(self.devices, dice=dice)
        self.queue: Final = SchedulingQueue(holds_back=self._dynamic.holds_back)
        self.profile: Final = default_profile(self.catalog, self.workloads, self._volume_binding, self._dynamic)
        self.cycle: Final = Cycle(self.profile, self.cluster, dice=dice, share=share)
        self._preemption = Preemption(self.profile, self.cluster, dice=dice)
        self._monotonic = monotonic
        self._names = names

    # What has happened

    def happened(self, happening: Happening, helps: Callable[[PodInfo], bool] = lambda _: True) -> None:
        """Something that pods may have waited for."""
        self.queue.happened(happening, self._monotonic(), helps=helps)

    def set_node(self, node: Node) -> None:
        """A node is new, or has changed."""
        name = node.metadata.name
        known = self.cluster.get(name) is not None
        self.cluster.set_node(node)
        info = self.cluster.get(name)
        assert info is not None

        def helps(pod: PodInfo) -> bool:
            rejection = self.profile.verdicts.judge(pod, info, self.profile.verdicts.of(pod)).rejection
            return rejection is None or rejection.resolvable

        self.happened(Happening.NODE_CHANGED if known else Happening.NODE_ADDED, helps)

    def pod_placed(self, pod: Pod) -> None:
        """The cluster says that a pod is on a node, or has changed there."""
        uid = pod.metadata.uid
        self.queue.remove(uid)
        self.cycle.withdraw(uid)
        known = self.cluster.holds(uid)
        self.cluster.set_pod(pod)
        if known and not self.cluster.holds(uid):
            self.happened(Happening.POD_LEFT)
        else:
            self.happened(Happening.POD_CHANGED if known else Happening.POD_ARRIVED)

    def pod_waits(self, pod: PodInfo) -> None:
        """A pod has no node."""
        if pod.scheduler not in self._names or self.cluster.is_assumed(pod.uid):
            return
        if pod.nominated_node and pod.uid not in self.queue:
            self.cycle.nominate(pod, pod.nominated_node)
        self.queue.add(pod, self._monotonic())

    def pod_gone(self, uid: str) -> None:
        """A pod was deleted, or has ended without ever having had a node."""
        self.queue.remove(uid)
        self.cycle.withdraw(uid)
        if self.cluster.holds(uid):
            self.cluster.remove_pod(uid)
            self.happened(Happening.POD_LEFT)

    # What to do

    def attempt(self, budgets: Sequence[Any]) -> Placed | Failed | None:
        """Try the next pod; None when none may be tried now. ``budgets``: the PodDisruptionBudgets there are."""
        queued = self.queue.pop(self._monotonic())
        if queued is None:
            return None
        try:
            return self._decide(queued, budgets)
        except Fault as fault:
            text = str(fault)
        except Exception as error:  # noqa: BLE001 — one pod's trouble must not keep the others waiting
            _log.exception("pod %s could not be scheduled", queued.pod.key)
            text = f"{type(error).__name__}: {error}"
        self.queue.failed(queued, frozenset(), self._monotonic())
        return Failed(queued, text, is_fault=True)

    def _decide(self, queued: QueuedPod, budgets: Sequence[Any]) -> Placed | Failed:
        pod = queued.pod
        try:
            decision = self.cycle.schedule(pod)
        except FitError as failure:
            return self._no_node(queued, failure, budgets)
        volumes = self._volume_binding.binding(pod, self.cluster, decision.node) if pod.claims else Binding()
        for claim, volume in volumes.static:
            self.catalog.reserved[volume.metadata.name] = f"{claim.metadata.namespace}/{claim.metadata.name}"
        devices = self._dynamic.reservation(pod, self.cluster, decision.node) if pod.device_claims else Reservation()
        self.cycle.withdraw(pod.uid)
        self.cluster.assume(pod, decision.node.name)
        return Placed(queued, decision.node.name, volumes, devices)

    def _no_node(self, queued: QueuedPod, failure: FitError, budgets: Sequence[Any]) -> Failed:
        victims, afterwards, deallocate = None, "", None
        if failure.blocked and failure.blocked_by != DynamicResources.name:
            afterwards = _NOT_PREPARED
        elif failure.nodes:
            words, deallocate = self._dynamic.after_failure(queued.pod, self.cluster)
            outcome = self._preemption.find(queued.pod, failure, self.cycle.nominations, budgets)
            victims = outcome.victims
            afterwards = f"{words}, {outcome.message}" if victims is None else ""
        if victims is not None:
            self.cycle.nominate(queued.pod, victims.node)
        # Without a single node no rule was asked; any node helps then.
        blockers = failure.plugins or frozenset({"NodeName"})
        self.queue.failed(queued, blockers, self._monotonic())
        return Failed(queued, failure.message(afterwards), victims, deallocate)

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
        self._release(placed)
        if self.cluster.is_assumed(pod.uid):
            self.cluster.forget(pod)
            self.happened(Happening.POD_LEFT)
        self.queue.failed(placed.queued, frozenset(), self._monotonic())

    def _release(self, placed: Placed) -> None:
        for _, volume in placed.volumes.static:
            self.catalog.reserved.pop(volume.metadata.name, None)
        for claim, _ in placed.devices.allocate:
            self.devices.settle(claim)
        if placed.devices.allocate:
            self.happened(Happening.DEVICES)
