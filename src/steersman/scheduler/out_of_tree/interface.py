"""Protocols of the scheduling framework's extension points, for plugins of other packages.

A plugin has a method for each extension point that it implements; the method's name decides, no base class is needed.
Methods of the scheduling cycle are synchronous: they must be quick, and the cluster does not change while one runs.
``post_filter``, ``pre_bind`` and ``bind`` are coroutines, which may wait for I/O. Pods and nodes are shared with the
scheduler: plugins must not change them. None stands for success.

Upstream: staging/src/k8s.io/kube-scheduler/framework/interface.go.
"""

from __future__ import annotations

import copy
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from steersman.asynckit.clock import Clock
    from steersman.client import Client
    from steersman.client.informer_factory import InformerFactory
    from steersman.scheduler.queue import ClusterEvent


class Code(Enum):
    """Code of a status. Success is None in place of a status."""

    #: The plugin failed; the pod is retried after its backoff.
    ERROR = "Error"
    UNSCHEDULABLE = "Unschedulable"
    #: As ``UNSCHEDULABLE``, but preemption does not help.
    UNSCHEDULABLE_AND_UNRESOLVABLE = "UnschedulableAndUnresolvable"
    #: From PreFilter or PreScore: the plugin has nothing to filter or score for this pod. From Bind: another plugin binds.
    SKIP = "Skip"


class Status(NamedTuple):
    """Result of an extension point other than success."""

    code: Code
    #: For the pod's condition and event.
    reasons: tuple[str, ...] = ()

    @classmethod
    def unschedulable(cls, *reasons: str) -> Status:
        """Return a rejection that preemption may resolve."""
        return cls(Code.UNSCHEDULABLE, reasons)

    @classmethod
    def unresolvable(cls, *reasons: str) -> Status:
        """Return a rejection that preemption cannot resolve."""
        return cls(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reasons)

    @classmethod
    def error(cls, *reasons: str) -> Status:
        """Return a failure of the plugin."""
        return cls(Code.ERROR, reasons)

    @classmethod
    def skip(cls) -> Status:
        """Return the status of a plugin that has nothing to do."""
        return cls(Code.SKIP)

    @property
    def message(self) -> str:
        """Reasons joined to one text."""
        return ", ".join(self.reasons)


class CycleState(dict[str, Any]):
    """Data of one attempt to schedule a pod, shared by all plugins; keys should begin with the plugin's name.

    It is copied to simulate preemption: values need ``copy.copy`` or a method ``clone``.
    """

    def clone(self) -> CycleState:
        """Return a copy with copied values."""
        return CycleState(
            (key, value.clone() if hasattr(value, "clone") else copy.copy(value)) for key, value in self.items()
        )


class PodInfo(Protocol):
    """A pod with the facts that the scheduler has computed."""

    @property
    def pod(self) -> Any:
        """The Pod (``lightkube.models.core_v1``)."""

    @property
    def name(self) -> str:
        """``metadata.name``."""

    @property
    def namespace(self) -> str:
        """``metadata.namespace``."""

    @property
    def uid(self) -> str:
        """``metadata.uid``."""

    @property
    def labels(self) -> Mapping[str, str]:
        """``metadata.labels``, perhaps empty."""

    @property
    def priority(self) -> int:
        """``spec.priority``."""

    @property
    def requests(self) -> Mapping[str, int]:
        """Effective requests: CPU in millicores, all else in units or bytes."""


class NodeInfo(Protocol):
    """A node with its pods, including those that are assumed."""

    @property
    def node(self) -> Any:
        """The Node (``lightkube.models.core_v1``)."""

    @property
    def name(self) -> str:
        """``metadata.name``."""

    @property
    def labels(self) -> Mapping[str, str]:
        """``metadata.labels``, perhaps empty."""

    @property
    def pods(self) -> Mapping[str, PodInfo]:
        """Pods by UID."""

    @property
    def allocatable(self) -> Mapping[str, int]:
        """``status.allocatable``, in the units of ``PodInfo.requests``."""

    @property
    def requested(self) -> Mapping[str, int]:
        """Sum of the pods' requests."""


class QueuedPodInfo(Protocol):
    """A pod in the queue."""

    @property
    def pod(self) -> PodInfo:
        """The pod."""

    @property
    def since(self) -> float:
        """Time of the first enqueue, in seconds of a monotonic clock."""

    @property
    def attempts(self) -> int:
        """Number of attempts so far."""


class WaitingPod(Protocol):
    """A pod that waits for the approval of Permit plugins."""

    @property
    def pod(self) -> PodInfo:
        """The pod."""

    @property
    def node(self) -> str:
        """Name of the selected node."""

    @property
    def pending_plugins(self) -> Sequence[str]:
        """Plugins that have not allowed the pod."""

    def allow(self, plugin: str) -> None:
        """Allow the pod on behalf of a plugin; it is bound when all have allowed it."""

    def reject(self, plugin: str, reason: str) -> None:
        """Reject the pod on behalf of a plugin."""


class Handle(Protocol):
    """Access of a plugin to the scheduler."""

    @property
    def client(self) -> Client:
        """Client of the API server."""

    @property
    def informers(self) -> InformerFactory:
        """Shared informers; those that a plugin requests in its constructor have synced before the first attempt."""

    @property
    def clock(self) -> Clock:
        """Source of all time."""

    def nodes(self) -> Sequence[NodeInfo]:
        """Return all nodes as they are now. Do not keep the result over an await."""

    def node(self, name: str) -> NodeInfo | None:
        """Return a node, or None."""

    def waiting_pods(self) -> Sequence[WaitingPod]:
        """Return the pods that wait for Permit plugins, of all profiles."""

    def waiting_pod(self, uid: str) -> WaitingPod | None:
        """Return the waiting pod with this UID, or None."""

    def activate(self, uids: Iterable[str]) -> None:
        """Requeue unschedulable pods."""


class PluginFactory(Protocol):
    """A plugin class. Its attribute ``Args``, if any, is the type of its arguments (a msgspec Struct or dataclass)."""

    def __call__(self, args: Any, handle: Handle, /) -> Any:
        """Create the plugin of one profile. ``args``: those of ``pluginConfig``, as ``Args`` or as a mapping."""


class PreEnqueuePlugin(Protocol):
    """Keeps pods out of the active queue; they are checked again after the events that the plugin registers."""

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """Return why the pod must not be scheduled yet."""


class QueueSortPlugin(Protocol):
    """Orders the queue, in place of ``PrioritySort``. All profiles need the same."""

    def less(self, first: QueuedPodInfo, second: QueuedPodInfo) -> bool:
        """Report whether ``first`` is scheduled before ``second``; the result must not change while they wait."""


class PreFilterResult(NamedTuple):
    """Restriction to some nodes."""

    node_names: frozenset[str]


class PreFilterPlugin(Protocol):
    """Prepares an attempt.

    A plugin that also has ``add_pod(state, pod, other, node)`` and ``remove_pod(state, pod, other, node)`` is notified of
    the pods that simulations of preemption add and remove, with a copy of the state.
    """

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> PreFilterResult | Status | None:
        """Return the nodes to consider, or why the pod fits on none."""


class FilterPlugin(Protocol):
    """Decides whether a pod fits on a node."""

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        """Return why the pod does not fit."""


class PostFilterResult(NamedTuple):
    """The pod may fit on a node later, e.g. after evictions."""

    nominated_node: str


class PostFilterPlugin(Protocol):
    """Makes room for a pod that fits on no node. The first result ends the plugins of this extension point."""

    async def post_filter(
        self, state: CycleState, pod: PodInfo, rejections: Mapping[str, Status]
    ) -> PostFilterResult | Status | None:
        """Return the nominated node. ``rejections``: by node."""


class PreScorePlugin(Protocol):
    """Prepares scores."""

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Status | None:
        """Prepare the scores of the feasible nodes."""


class ScorePlugin(Protocol):
    """Ranks the feasible nodes.

    A plugin that also has ``normalize_scores(state, pod, scores)`` returns scores from 0 to 100 there, by node; without
    it ``score`` does.
    """

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        """Return the score of a node."""


class ReservePlugin(Protocol):
    """Keeps account of resources for a pod between the choice of its node and its binding."""

    def reserve(self, state: CycleState, pod: PodInfo, node: str) -> Status | None:
        """Reserve resources."""

    def unreserve(self, state: CycleState, pod: PodInfo, node: str) -> None:
        """Release them: the pod is not bound. Called for all plugins, even if ``reserve`` was not; idempotent."""


class Wait(NamedTuple):
    """Result of Permit: the pod waits until the plugin allows or rejects it, at most this long."""

    timeout_seconds: float


class PermitPlugin(Protocol):
    """Delays or prevents the binding of a pod."""

    def permit(self, state: CycleState, pod: PodInfo, node: str) -> Status | Wait | None:
        """Return None to allow, ``Wait`` to wait, or why the pod must not be bound."""


class PreBindPlugin(Protocol):
    """Does what must be done before a pod is bound."""

    async def pre_bind(self, state: CycleState, pod: PodInfo, node: str) -> Status | None:
        """Prepare the binding."""


class BindPlugin(Protocol):
    """Binds pods in place of ``DefaultBinder``; plugins are called in order until one does not skip."""

    async def bind(self, state: CycleState, pod: PodInfo, node: str) -> Status | None:
        """Bind the pod."""


class PostBindPlugin(Protocol):
    """Is notified of bound pods."""

    def post_bind(self, state: CycleState, pod: PodInfo, node: str) -> None:
        """Clean up after a binding."""


class ClusterEventWithHint(NamedTuple):
    """Events that may make a pod schedulable that the plugin rejected."""

    event: ClusterEvent
    #: Called with the pod and the object before and after the event, each None if it does not exist or is not known;
    #: False: the event does not help this pod. None: every such event may help.
    hint: Callable[[PodInfo, Any, Any], bool] | None = None


@runtime_checkable
class EnqueueExtensions(Protocol):
    """Registers the events after which rejected pods are retried; without it a plugin registers for all."""

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        """Return the events. Called once."""
