"""The scheduling queue: order of pending pods, backoff, and events that requeue unschedulable pods.

An unschedulable pod waits until a cluster event that one of the plugins that rejected it registers for, and at the
latest for ``wait_max_seconds``; it is retried when its backoff is over. Synchronous: time is a parameter, in seconds of
any monotonic clock. Upstream: ``pkg/scheduler/backend/queue``.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from enum import Flag, auto
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from steersman.scheduler.pod_info import PodInfo


class ClusterEvent(Flag):
    """A change of the cluster that can make a pod schedulable."""

    NODE_ADDED = auto()
    NODE_CHANGED = auto()
    NODE_GONE = auto()
    POD_ARRIVED = auto()
    #: Its labels have changed, or it is terminating.
    POD_CHANGED = auto()
    #: Its requests were scaled down.
    POD_SHRUNK = auto()
    POD_LEFT = auto()
    VOLUME = auto()
    CLAIM = auto()
    STORAGE_CLASS = auto()
    CSI_NODE = auto()
    CAPACITY = auto()
    NAMESPACE = auto()
    #: A VolumeAttachment was deleted or changed.
    DETACHED = auto()
    DEVICES = auto()
    DEVICE_CLASS = auto()


class ObjectChange(NamedTuple):
    """The object of an event before and after it; None if it does not exist or is not known."""

    old: Any = None
    new: Any = None


#: For events without an object.
NO_OBJECT: Final = ObjectChange()


_NODE: Final = ClusterEvent.NODE_ADDED | ClusterEvent.NODE_CHANGED
_PODS: Final = ClusterEvent.POD_ARRIVED | ClusterEvent.POD_CHANGED | ClusterEvent.POD_LEFT
#: Upstream: ``EventsToRegister`` of each plugin. Plugins that are missing here register for every event.
_EVENTS_TO_REGISTER: Final = {
    "NodeUnschedulable": _NODE,
    "NodeName": _NODE,
    "TaintToleration": _NODE,
    "NodeAffinity": _NODE,
    "NodePorts": _NODE | ClusterEvent.POD_LEFT,
    "NodeResourcesFit": _NODE | ClusterEvent.POD_LEFT | ClusterEvent.POD_SHRUNK | ClusterEvent.DEVICE_CLASS,
    "NodeDeclaredFeatures": _NODE,
    "VolumeRestrictions": ClusterEvent.POD_LEFT | ClusterEvent.CLAIM | ClusterEvent.NODE_ADDED,
    "VolumeBinding": _NODE
    | ClusterEvent.VOLUME
    | ClusterEvent.CLAIM
    | ClusterEvent.STORAGE_CLASS
    | ClusterEvent.CSI_NODE
    | ClusterEvent.CAPACITY,
    "VolumeZone": _NODE | ClusterEvent.VOLUME | ClusterEvent.CLAIM | ClusterEvent.STORAGE_CLASS,
    "NodeVolumeLimits": ClusterEvent.CSI_NODE
    | ClusterEvent.POD_LEFT
    | ClusterEvent.CLAIM
    | ClusterEvent.DETACHED
    | ClusterEvent.NODE_ADDED,
    # A deleted node can remove the domain with the fewest pods.
    "PodTopologySpread": _NODE | ClusterEvent.NODE_GONE | _PODS,
    "InterPodAffinity": _NODE | _PODS | ClusterEvent.NAMESPACE,
    "DynamicResources": _NODE | ClusterEvent.DEVICES | ClusterEvent.DEVICE_CLASS,
}


#: Labels of events. Upstream: ``ClusterEvent.Label``; an event that stands for several has that of updates.
_EVENT_LABELS: Final = {
    ClusterEvent.NODE_ADDED: "NodeAdd",
    ClusterEvent.NODE_CHANGED: "NodeUpdate",
    ClusterEvent.NODE_GONE: "NodeDelete",
    ClusterEvent.POD_ARRIVED: "AssignedPodAdd",
    ClusterEvent.POD_CHANGED: "AssignedPodUpdate",
    ClusterEvent.POD_SHRUNK: "AssignedPodUpdate",
    ClusterEvent.POD_LEFT: "AssignedPodDelete",
    ClusterEvent.VOLUME: "PersistentVolumeUpdate",
    ClusterEvent.CLAIM: "PersistentVolumeClaimUpdate",
    ClusterEvent.STORAGE_CLASS: "StorageClassUpdate",
    ClusterEvent.CSI_NODE: "CSINodeUpdate",
    ClusterEvent.CAPACITY: "CSIStorageCapacityUpdate",
    ClusterEvent.NAMESPACE: "NamespaceUpdate",
    ClusterEvent.DETACHED: "VolumeAttachmentDelete",
    ClusterEvent.DEVICES: "ResourceClaimUpdate",
    ClusterEvent.DEVICE_CLASS: "DeviceClassUpdate",
}


def event_label(event: ClusterEvent | str) -> str:
    """Return the label of an event; of several at once, that of the first."""
    return event if isinstance(event, str) else _EVENT_LABELS[next(iter(event))]


class QueuedPod:
    """A pending pod. Upstream: ``QueuedPodInfo``."""

    __slots__ = ("attempts", "cause", "due", "pod", "serial", "since", "state", "tried", "unschedulable_plugins")

    def __init__(self, pod: PodInfo, since: float) -> None:
        self.pod = pod
        #: Time of the first enqueue, which orders pods of equal priority, and of the last attempt.
        self.since: Final = since
        self.tried = since
        self.attempts = 0
        #: Plugins that rejected the pod in the last attempt.
        self.unschedulable_plugins: frozenset[str] = frozenset()
        #: End of the backoff.
        self.due = since
        self.state = ""
        #: Serial number of its latest entry in the active queue; earlier entries are stale.
        self.serial = 0
        #: Event that requeued the pod, for logs.
        self.cause: ClusterEvent | str = "UnschedulablePodAdd"

    @property
    def cause_text(self) -> str:
        """The cause as upstream's event labels: ``NodeAdd``."""
        return event_label(self.cause)


_ACTIVE: Final = "active"
_BACKOFF: Final = "backoff"
_UNSCHEDULABLE: Final = "unschedulable"
_GATED: Final = "gated"
_IN_FLIGHT: Final = "in flight"
#: Bound on events that are recorded for one pod in flight; with more, the pod is requeued in any case.
_RECORDED_EVENTS_MAX: Final = 1024


class _RecordedEvents:
    """Events during the attempt of one pod. Upstream: ``inFlightEvents``."""

    __slots__ = ("_concerns", "_overflown")

    def __init__(self) -> None:
        #: Predicates: whether an event may make the pod schedulable for a plugin that rejected it.
        self._concerns: list[Callable[[str], bool]] = []
        self._overflown = False

    def record(self, concerns: Callable[[str], bool]) -> None:
        """Record an event."""
        if len(self._concerns) < _RECORDED_EVENTS_MAX:
            self._concerns.append(concerns)
        else:
            self._overflown = True

    def concern(self, plugins: Iterable[str]) -> bool:
        """Report whether one of the events may make the pod schedulable."""
        return self._overflown or any(concerns(name) for name in plugins for concerns in self._concerns)


class SchedulingQueue:
    """Pending pods, each in exactly one state: active, backoff, unschedulable, gated or in flight."""

    def __init__(
        self,
        *,
        is_gated: Callable[[PodInfo], bool],
        backoff_initial_seconds: float,
        backoff_max_seconds: float,
        wait_max_seconds: float,
        sort_key: Callable[[QueuedPod], tuple[Any, ...]] | None = None,
        events_to_register: Mapping[str, ClusterEvent] | None = None,
        gate_events: ClusterEvent = ClusterEvent.DEVICES,
    ) -> None:
        """``is_gated``: report whether a PreEnqueue plugin gates the pod. ``wait_max_seconds``: maximum time in the
        unschedulable state. ``sort_key``: order of the active queue (QueueSort), by default by priority, then time.
        ``events_to_register``: those of out-of-tree plugins. ``gate_events``: events after which gated pods are checked
        again.
        """
        self._sort_key = sort_key or priority_sort
        self._events_to_register = {**_EVENTS_TO_REGISTER, **(events_to_register or {})}
        self._gate_events = gate_events
        self._is_gated = is_gated
        self._backoff_initial = backoff_initial_seconds
        self._backoff_max = backoff_max_seconds
        self._wait_max = wait_max_seconds
        self._pods: dict[str, QueuedPod] = {}
        #: Unschedulable pods by UID.
        self._unschedulable: dict[str, QueuedPod] = {}
        #: Gated pods by UID.
        self._gated: dict[str, QueuedPod] = {}
        #: Heaps; stale entries stay in them and are skipped by their state.
        self._active: list[tuple[tuple[Any, ...], int, QueuedPod]] = []
        self._backoff: list[tuple[float, int, QueuedPod]] = []
        #: Pods in backoff that may be popped early; pods that failed with an error may not.
        self._poppable_backoff: list[tuple[float, int, QueuedPod]] = []
        self._serial = itertools.count()
        #: Pods that entered a queue, by event and queue.
        self.incoming: Final[Counter[tuple[str, str]]] = Counter()
        #: Events during attempts that are suspended, by UID.
        self._recorded_events: dict[str, _RecordedEvents] = {}

    def __len__(self) -> int:
        return len(self._pods)

    def pod(self, uid: str) -> PodInfo | None:
        """Return the latest version of a pending pod, or None."""
        queued = self._pods.get(uid)
        return queued.pod if queued is not None else None

    def counts(self) -> dict[str, int]:
        """Return the number of pods by state, for metrics."""
        counts = dict.fromkeys((_ACTIVE, _BACKOFF, _UNSCHEDULABLE, _GATED), 0)
        for queued in self._pods.values():
            if queued.state in counts:
                counts[queued.state] += 1
        return counts

    @property
    def has_unschedulable(self) -> bool:
        """True if ``flush_unschedulable`` may have something to requeue."""
        return bool(self._unschedulable)

    @property
    def awaits_events(self) -> bool:
        """True if a cluster event may concern a pod."""
        return bool(self._unschedulable) or bool(self._recorded_events)

    def has(self, queued: QueuedPod) -> bool:
        """Report whether the pod is still pending: neither deleted nor assigned since it was popped."""
        return self._pods.get(queued.pod.uid) is queued

    def record_events_for(self, queued: QueuedPod) -> None:
        """Record events until the pod in flight is settled: they count when it turns out to be unschedulable."""
        self._recorded_events[queued.pod.uid] = _RecordedEvents()

    def unschedulable_pods(self) -> Iterator[QueuedPod]:
        """Iterate over the unschedulable pods."""
        return iter(self._unschedulable.values())

    # Pod events

    def add(self, pod: PodInfo, now: float) -> None:
        """Add a pending pod, or update it."""
        if pod.uid in self._pods:
            self.update(pod, now)
            return
        queued = self._pods[pod.uid] = QueuedPod(pod, now)
        self._activate(queued, queued.cause)

    def update(self, pod: PodInfo, now: float) -> None:
        """Update a pod; an unschedulable pod is requeued if a plugin that rejected it may now accept it."""
        queued = self._pods.get(pod.uid)
        if queued is None:
            self.add(pod, now)
            return
        before = queued.pod
        queued.pod = pod
        if queued.state == _GATED:
            self._activate(queued, "UnschedulablePodUpdate")
        elif queued.state == _UNSCHEDULABLE and any(
            _is_update_for(name, before, pod) for name in queued.unschedulable_plugins
        ):
            self._requeue(queued, now, "UnschedulablePodUpdate")
        elif queued.state == _ACTIVE and before.priority != pod.priority:
            self._push_active(queued)
        elif pod.uid in self._recorded_events:
            self._recorded_events[pod.uid].record(lambda name: _is_update_for(name, before, pod))

    def remove(self, uid: str) -> None:
        """Remove a pod that was deleted or assigned. Idempotent."""
        queued = self._pods.pop(uid, None)
        if queued is not None:
            queued.state = ""
            self._recorded_events.pop(uid, None)
            self._unschedulable.pop(uid, None)
            self._gated.pop(uid, None)

    def _activate(self, queued: QueuedPod, event: ClusterEvent | str) -> None:
        if self._is_gated(queued.pod):
            if queued.state != _GATED:
                self.incoming[event_label(event), _UNSCHEDULABLE] += 1
            queued.state = _GATED
            self._gated[queued.pod.uid] = queued
            return
        self._gated.pop(queued.pod.uid, None)
        self.incoming[event_label(event), _ACTIVE] += 1
        self._push_active(queued)

    def _push_active(self, queued: QueuedPod) -> None:
        queued.state = _ACTIVE
        queued.serial = next(self._serial)
        heapq.heappush(self._active, (self._sort_key(queued), queued.serial, queued))

    # Attempts and requeuing

    def pop(self, now: float) -> QueuedPod | None:
        """Return the active pod with the highest priority, or None; settle it with ``remove`` or ``failed``.

        If no pod is active, a requeued pod is taken before its backoff is over (``SchedulerPopFromBackoffQ``,
        KEP-5142).
        """
        self.flush(now)
        while self._active or self._poppable_backoff:
            if not self._active:
                self._activate_from_backoff()
                continue
            _, serial, queued = heapq.heappop(self._active)
            if queued.state == _ACTIVE and serial == queued.serial:
                queued.state = _IN_FLIGHT
                queued.attempts += 1
                return queued
        return None

    def _activate_from_backoff(self) -> None:
        due, _, queued = heapq.heappop(self._poppable_backoff)
        if queued.state == _BACKOFF and queued.due == due:
            self._activate(queued, "PopFromBackoffQ")

    def add_unschedulable(self, queued: QueuedPod, unschedulable_plugins: frozenset[str], now: float) -> None:
        """Return a pod to the queue after a failed attempt; without ``unschedulable_plugins`` it was an error and needs no event.

        Upstream: ``AddUnschedulableIfNotPresent``.
        """
        recorded_events = self._recorded_events.pop(queued.pod.uid, None)
        if not self.has(queued):
            return  # deleted during the attempt
        queued.unschedulable_plugins = unschedulable_plugins
        queued.tried = now
        queued.due = now + min(self._backoff_initial * 2 ** (queued.attempts - 1), self._backoff_max)
        if not unschedulable_plugins or (
            recorded_events is not None and recorded_events.concern(unschedulable_plugins)
        ):
            self._requeue(queued, now, "ScheduleAttemptFailure")
        else:
            self.incoming["ScheduleAttemptFailure", _UNSCHEDULABLE] += 1
            queued.state = _UNSCHEDULABLE
            self._unschedulable[queued.pod.uid] = queued

    def on_cluster_event(
        self,
        event: ClusterEvent,
        now: float,
        *,
        hint: Callable[[str, PodInfo], bool] = lambda _, __: True,
        own_uid: str = "",
    ) -> None:
        """Requeue the unschedulable pods that the event may make schedulable.

        The event of the pod in flight with ``own_uid`` is not recorded for itself.

        A plugin that rejected the pod must have registered for the event, and the queueing hint ``hint`` must not skip
        it. Upstream: ``MoveAllToActiveOrBackoffQueue``.
        """
        for queued in list(self.unschedulable_pods()):
            pod = queued.pod
            if any(self._concerns(event, hint, pod, name) for name in queued.unschedulable_plugins):
                self._requeue(queued, now, event)
        for uid, recorded in self._recorded_events.items():
            if uid != own_uid:
                recorded.record(partial(self._concerns, event, hint, self._pods[uid].pod))
        if event & self._gate_events:
            self.recheck_gated(event)

    def _concerns(self, event: ClusterEvent, hint: Callable[[str, PodInfo], bool], pod: PodInfo, blocker: str) -> bool:
        """Report whether the plugin that rejected the pod registers for the event, and its hint does not skip it."""
        return bool(event & self._events_to_register.get(blocker, event)) and hint(blocker, pod)

    def recheck_gated(self, event: ClusterEvent | str) -> None:
        """Run PreEnqueue again for the gated pods, after ``event``."""
        for queued in list(self._gated.values()):
            self._activate(queued, event)

    def activate(self, uids: Iterable[str], now: float) -> None:
        """Requeue these pods if they are unschedulable."""
        for uid in uids:
            queued = self._pods.get(uid)
            if queued is not None and queued.state == _UNSCHEDULABLE:
                self._requeue(queued, now, "ForceActivate")

    def _requeue(self, queued: QueuedPod, now: float, cause: ClusterEvent | str) -> None:
        queued.cause = cause
        self._unschedulable.pop(queued.pod.uid, None)
        if queued.due <= now:
            self._activate(queued, cause)
        else:
            self.incoming[event_label(cause), _BACKOFF] += 1
            queued.state = _BACKOFF
            entry = (queued.due, next(self._serial), queued)
            heapq.heappush(self._backoff, entry)
            if queued.unschedulable_plugins:
                heapq.heappush(self._poppable_backoff, entry)

    def flush(self, now: float) -> None:
        """Move pods whose backoff is over to the active queue."""
        while self._backoff and self._backoff[0][0] <= now:
            due, _, queued = heapq.heappop(self._backoff)
            if queued.state == _BACKOFF and queued.due == due:
                self._activate(queued, "BackoffComplete")
        while self._poppable_backoff and self._poppable_backoff[0][0] <= now:
            heapq.heappop(self._poppable_backoff)

    def flush_unschedulable(self, now: float) -> None:
        """Requeue pods that have been unschedulable for ``wait_max_seconds``. Upstream:
        ``flushUnschedulablePodsLeftover``.
        """
        for queued in list(self.unschedulable_pods()):
            if now - queued.tried >= self._wait_max:
                self._requeue(queued, now, "UnschedulableTimeout")

    @property
    def next_backoff_end(self) -> float | None:
        """End of the earliest backoff; None if no pod is in backoff."""
        while self._backoff and (
            self._backoff[0][2].state != _BACKOFF or self._backoff[0][2].due != self._backoff[0][0]
        ):
            heapq.heappop(self._backoff)
        return self._backoff[0][0] if self._backoff else None


def priority_sort(queued: QueuedPod) -> tuple[int, float]:
    """Order by priority, then time. Upstream: ``PrioritySort``."""
    return -queued.pod.priority, queued.since


def _is_update_for(blocker: str, before: PodInfo, after: PodInfo) -> bool:
    """Report whether an update of a pod may make it schedulable for the plugin that rejected it.

    Upstream: ``PodSchedulingPropertiesChange`` and the plugins' hints for updates of unscheduled pods.
    """
    match blocker:
        case "NodeUnschedulable" | "TaintToleration":
            return before.tolerations != after.tolerations
        case "NodeResourcesFit":
            return any(after.requests.get(name, 0) < amount for name, amount in before.requests.items())
        case "PodTopologySpread" | "InterPodAffinity":
            return before.labels != after.labels
        case "DynamicResources":
            return before.device_claims != after.device_claims
        case _:
            return blocker not in _EVENTS_TO_REGISTER and _is_updated(before.pod, after.pod)


def _is_updated(before: Any, after: Any) -> bool:
    """Report whether more than the status of a pod has changed. Upstream: ``isPodUpdated``."""
    old, new = before.metadata, after.metadata
    return bool(
        before.spec != after.spec
        or (old.labels or {}) != (new.labels or {})
        or (old.annotations or {}) != (new.annotations or {})
        or (old.finalizers or []) != (new.finalizers or [])
        or (old.ownerReferences or []) != (new.ownerReferences or [])
    )
