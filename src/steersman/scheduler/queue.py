"""Which pod is next, and when those that found no node are worth another try.

Pods that failed wait until something happens that may help them: each rule names the happenings that can change what it
says. They come back when their backoff is over, at the latest after five minutes. Pure: time is a parameter, in seconds
of any monotonic clock.
"""

from __future__ import annotations

import heapq
import itertools
from enum import Flag, auto
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from steersman.scheduler.pod_info import PodInfo


class Happening(Flag):
    """What may help a pod that waits."""

    NODE_ADDED = auto()
    NODE_CHANGED = auto()
    NODE_GONE = auto()
    POD_ARRIVED = auto()
    #: Its labels are others, or it terminates.
    POD_CHANGED = auto()
    #: It takes less of its node.
    POD_SHRUNK = auto()
    POD_LEFT = auto()
    VOLUME = auto()
    CLAIM = auto()
    STORAGE_CLASS = auto()
    CSI_NODE = auto()
    CAPACITY = auto()
    NAMESPACE = auto()
    #: A volume is attached to a node no more.
    DETACHED = auto()
    DEVICES = auto()
    DEVICE_CLASS = auto()


_NODE: Final = Happening.NODE_ADDED | Happening.NODE_CHANGED
_PODS: Final = Happening.POD_ARRIVED | Happening.POD_CHANGED | Happening.POD_LEFT
#: By the rule that stood in the way; for a rule that is not named here anything helps.
_HELPS: Final = {
    "NodeUnschedulable": _NODE,
    "NodeName": _NODE,
    "TaintToleration": _NODE,
    "NodeAffinity": _NODE,
    "NodePorts": _NODE | Happening.POD_LEFT,
    "NodeResourcesFit": _NODE | Happening.POD_LEFT | Happening.POD_SHRUNK | Happening.DEVICE_CLASS,
    "NodeDeclaredFeatures": _NODE,
    "VolumeRestrictions": Happening.POD_LEFT | Happening.CLAIM | Happening.NODE_ADDED,
    "VolumeBinding": _NODE
    | Happening.VOLUME
    | Happening.CLAIM
    | Happening.STORAGE_CLASS
    | Happening.CSI_NODE
    | Happening.CAPACITY,
    "VolumeZone": _NODE | Happening.VOLUME | Happening.CLAIM | Happening.STORAGE_CLASS,
    "NodeVolumeLimits": Happening.CSI_NODE
    | Happening.POD_LEFT
    | Happening.CLAIM
    | Happening.DETACHED
    | Happening.NODE_ADDED,
    # With a node an emptier domain may have gone.
    "PodTopologySpread": _NODE | Happening.NODE_GONE | _PODS,
    "InterPodAffinity": _NODE | _PODS | Happening.NAMESPACE,
    "DynamicResources": _NODE | Happening.DEVICES | Happening.DEVICE_CLASS,
}


class QueuedPod:
    """A pod that wants a node."""

    __slots__ = ("attempts", "blockers", "cause", "due", "pod", "since", "state", "tried")

    def __init__(self, pod: PodInfo, since: float) -> None:
        self.pod = pod
        #: When it came, for the order among equals; and when it failed last.
        self.since: Final = since
        self.tried = since
        self.attempts = 0
        #: Rules that stood in the way at the last attempt.
        self.blockers: frozenset[str] = frozenset()
        #: When its backoff is over.
        self.due = since
        self.state = ""
        #: Why it is tried next, for logs.
        self.cause: Happening | str = "UnschedulablePodAdd"

    @property
    def cause_text(self) -> str:
        """The cause as upstream spells the labels of cluster events: ``NodeAdded``."""
        if isinstance(self.cause, str):
            return self.cause
        return (self.cause.name or "").title().replace("_", "")


_ACTIVE: Final = "active"
_BACKOFF: Final = "backoff"
_WAITING: Final = "unschedulable"
_GATED: Final = "gated"
_IN_FLIGHT: Final = "in flight"


class SchedulingQueue:
    """Holds each pod that has no node once; as many as there are in the cluster."""

    def __init__(
        self,
        *,
        holds_back: Callable[[PodInfo], bool],
        backoff_initial_seconds: float,
        backoff_max_seconds: float,
        wait_max_seconds: float,
    ) -> None:
        """``holds_back``: whether a rule says that a pod may not be tried yet (``PreEnqueue``). ``wait_max_seconds``: so
        long a pod waits for something to happen.
        """
        self._holds_back = holds_back
        self._backoff_initial = backoff_initial_seconds
        self._backoff_max = backoff_max_seconds
        self._wait_max = wait_max_seconds
        self._pods: dict[str, QueuedPod] = {}
        #: Those of them that found no node and wait for something to happen.
        self._waiting: dict[str, QueuedPod] = {}
        #: And those that may not be tried yet.
        self._gated: dict[str, QueuedPod] = {}
        #: Heaps with what has moved on left in them, told by its state and serial.
        self._active: list[tuple[int, float, int, QueuedPod]] = []
        self._backoff: list[tuple[float, int, QueuedPod]] = []
        #: Those of them that no error keeps waiting.
        self._hopeful: list[tuple[float, int, QueuedPod]] = []
        self._serial = itertools.count()

    def __len__(self) -> int:
        return len(self._pods)

    def pod(self, uid: str) -> PodInfo | None:
        """A pod without a node as it was last told."""
        queued = self._pods.get(uid)
        return queued.pod if queued is not None else None

    def counts(self) -> dict[str, int]:
        """How many wait in each state, for metrics."""
        found = dict.fromkeys((_ACTIVE, _BACKOFF, _WAITING, _GATED), 0)
        for queued in self._pods.values():
            if queued.state in found:
                found[queued.state] += 1
        return found

    def waiting(self) -> Iterator[QueuedPod]:
        """Those that found no node and wait for something to happen."""
        return iter(self._waiting.values())

    # Coming and going

    def add(self, pod: PodInfo, now: float) -> None:
        """A pod is new, or is back without a node; one that is known is updated."""
        if pod.uid in self._pods:
            self.update(pod, now)
            return
        queued = self._pods[pod.uid] = QueuedPod(pod, now)
        self._activate(queued)

    def update(self, pod: PodInfo, now: float) -> None:
        """A pod has changed. What it asks for may be less now, so it is tried again unless only its status differs."""
        queued = self._pods.get(pod.uid)
        if queued is None:
            self.add(pod, now)
            return
        before = queued.pod
        queued.pod = pod
        if queued.state == _GATED:
            self._activate(queued)
        elif queued.state == _WAITING and _asks_differently(before, pod):
            self._retry(queued, now, "UnschedulablePodUpdate")
        elif queued.state == _ACTIVE and before.priority != pod.priority:
            self._activate(queued)

    def remove(self, uid: str) -> None:
        """A pod is gone, or has a node. Idempotent."""
        queued = self._pods.pop(uid, None)
        if queued is not None:
            queued.state = ""
            self._waiting.pop(uid, None)
            self._gated.pop(uid, None)

    def _activate(self, queued: QueuedPod) -> None:
        if self._holds_back(queued.pod):
            queued.state = _GATED
            self._gated[queued.pod.uid] = queued
            return
        self._gated.pop(queued.pod.uid, None)
        queued.state = _ACTIVE
        heapq.heappush(self._active, (-queued.pod.priority, queued.since, next(self._serial), queued))

    # Trying

    def pop(self, now: float) -> QueuedPod | None:
        """The most important pod that may be tried now; None when all wait. Settle it with ``remove`` or ``failed``.

        When there is nothing better to do, a pod that something may have helped need not wait until its backoff is over
        (``SchedulerPopFromBackoffQ``, KEP-5142).
        """
        self.flush(now)
        while self._active or self._hopeful:
            if not self._active:
                self._activate_soonest()
                continue
            rank, _, _, queued = heapq.heappop(self._active)
            if queued.state == _ACTIVE and rank == -queued.pod.priority:
                queued.state = _IN_FLIGHT
                queued.attempts += 1
                return queued
        return None

    def _activate_soonest(self) -> None:
        due, _, queued = heapq.heappop(self._hopeful)
        if queued.state == _BACKOFF and queued.due == due:
            self._activate(queued)

    def failed(self, queued: QueuedPod, blockers: frozenset[str], now: float) -> None:
        """The pod found no node because of these rules; without any it was an error, and it is tried again by itself."""
        if self._pods.get(queued.pod.uid) is not queued:
            return  # it has gone meanwhile
        queued.blockers = blockers
        queued.tried = now
        queued.due = now + min(self._backoff_initial * 2 ** (queued.attempts - 1), self._backoff_max)
        if blockers:
            queued.state = _WAITING
            self._waiting[queued.pod.uid] = queued
        else:
            self._retry(queued, now, "ScheduleAttemptFailure")

    def happened(
        self, happening: Happening, now: float, *, helps: Callable[[str, PodInfo], bool] = lambda _, __: True
    ) -> None:
        """Try those again that this may help: a blocker cares for such a happening, and ``helps`` does not deny it."""
        for queued in list(self.waiting()):
            pod = queued.pod
            if any(happening & _HELPS.get(name, happening) and helps(name, pod) for name in queued.blockers):
                self._retry(queued, now, happening)
        if happening & Happening.DEVICES:
            self.open_gates()

    def open_gates(self) -> None:
        """Let those in that nothing holds back any more."""
        for queued in list(self._gated.values()):
            self._activate(queued)

    def activate(self, uids: Iterable[str], now: float) -> None:
        """Try these again."""
        for uid in uids:
            queued = self._pods.get(uid)
            if queued is not None and queued.state == _WAITING:
                self._retry(queued, now, "ForceActivate")

    def _retry(self, queued: QueuedPod, now: float, cause: Happening | str) -> None:
        queued.cause = cause
        self._waiting.pop(queued.pod.uid, None)
        if queued.due <= now:
            self._activate(queued)
        else:
            queued.state = _BACKOFF
            entry = (queued.due, next(self._serial), queued)
            heapq.heappush(self._backoff, entry)
            if queued.blockers:
                heapq.heappush(self._hopeful, entry)

    def flush(self, now: float) -> None:
        """Bring back those whose backoff is over."""
        while self._backoff and self._backoff[0][0] <= now:
            due, _, queued = heapq.heappop(self._backoff)
            if queued.state == _BACKOFF and queued.due == due:
                self._activate(queued)
        while self._hopeful and self._hopeful[0][0] <= now:
            heapq.heappop(self._hopeful)

    def flush_waiting(self, now: float) -> None:
        """Bring back those that have waited for too long, whatever for."""
        for queued in list(self.waiting()):
            if now - queued.tried >= self._wait_max:
                self._retry(queued, now, "UnschedulableTimeout")

    @property
    def next_due(self) -> float | None:
        """When the next backoff is over."""
        while self._backoff and (
            self._backoff[0][2].state != _BACKOFF or self._backoff[0][2].due != self._backoff[0][0]
        ):
            heapq.heappop(self._backoff)
        return self._backoff[0][0] if self._backoff else None


def _asks_differently(before: PodInfo, after: PodInfo) -> bool:
    """Whether more than the status differs."""
    return (
        before.signature != after.signature
        or before.labels != after.labels
        or before.priority != after.priority
        or before.gates != after.gates
        or before.device_claims != after.device_claims
    )
