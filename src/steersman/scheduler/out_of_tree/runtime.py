"""Runtime of one profile's out-of-tree plugins: instances, state of each attempt, and all extension points but scores
and filters.

Upstream: ``frameworkImpl`` in pkg/scheduler/framework/runtime/framework.go.
"""

from __future__ import annotations

from functools import cmp_to_key
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.gotext import quote
from steersman.scheduler.configuration.errors import ConfigurationError
from steersman.scheduler.framework import PluginError, PluginRejection
from steersman.scheduler.out_of_tree.adapters import FILTERING, SCORING, OutOfTreePlugin
from steersman.scheduler.out_of_tree.calls import call, call_async, expect, rejection_of, require_success
from steersman.scheduler.out_of_tree.interface import (
    Code,
    CycleState,
    EnqueueExtensions,
    PostFilterResult,
    Status,
    Wait,
)
from steersman.scheduler.out_of_tree.registry import convert_args
from steersman.scheduler.out_of_tree.waiting import TIMEOUT_MAX_SECONDS, PermitWait
from steersman.scheduler.queue import ClusterEvent, priority_sort

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from steersman.asynckit.clock import Clock
    from steersman.scheduler.configuration.settings import ProfileSettings
    from steersman.scheduler.fit_error import FitError
    from steersman.scheduler.out_of_tree.interface import ClusterEventWithHint, Handle
    from steersman.scheduler.pod_info import PodInfo
    from steersman.scheduler.queue import ObjectChange, QueuedPod

#: All events.
_ANY: Final = ~ClusterEvent(0)


class PluginRuntime:
    """The plugins of a profile that are out of tree."""

    def __init__(self, settings: ProfileSettings, plugins: Mapping[str, Any], *, clock: Clock) -> None:
        """``plugins``: instances by name."""
        self._clock = clock
        self._plugins = plugins
        #: Out-of-tree plugins by extension point, in the profile's order.
        self._points: Final = {
            point: tuple(name for name in names if name in plugins) for point, names in settings.plugins.points.items()
        }
        self._states: dict[str, CycleState] = {}
        #: Registered events by plugin.
        self.events: Final[dict[str, Sequence[ClusterEventWithHint]]] = {
            name: _registered_events(name, plugin)
            for name, plugin in plugins.items()
            if isinstance(plugin, EnqueueExtensions)
        }

    # State

    def begin(self, pod: PodInfo) -> None:
        """Start an attempt."""
        self._states[pod.uid] = CycleState()

    def end(self, pod: PodInfo) -> None:
        """End the attempt and drop its state. Idempotent."""
        self._states.pop(pod.uid, None)

    def _state(self, pod: PodInfo) -> CycleState:
        return self._states.setdefault(pod.uid, CycleState())

    # Queue

    def events_of(self, name: str) -> ClusterEvent:
        """Return the events that a plugin registers for; all events if it does not say."""
        if name not in self.events:
            return _ANY
        flags = ClusterEvent(0)
        for registered in self.events[name]:
            flags |= registered.event
        return flags

    def hint(self, name: str, pod: PodInfo, event: ClusterEvent, change: ObjectChange) -> bool:
        """Report whether an event may make a pod schedulable that the plugin rejected; a failing hint does."""
        try:
            return name not in self.events or any(
                entry.event & event and (entry.hint is None or call(name, "QueueingHint", entry.hint, pod, *change))
                for entry in self.events[name]
            )
        except PluginError:
            return True

    @property
    def gate_events(self) -> ClusterEvent:
        """Events after which gated pods are checked again."""
        flags = ClusterEvent(0)
        for name in self._points["preEnqueue"]:
            flags |= self.events_of(name)
        return flags

    def event_registrations(self) -> dict[str, ClusterEvent]:
        """Return the events by plugin."""
        return {name: self.events_of(name) for name in self._plugins}

    def is_gated(self, pod: PodInfo) -> bool:
        """Report whether a PreEnqueue plugin keeps the pod out of the active queue; an error does."""
        for name in self._points["preEnqueue"]:
            try:
                if expect(name, "PreEnqueue", call(name, "PreEnqueue", self._plugins[name].pre_enqueue, pod)):
                    return True
            except PluginError:
                return True
        return False

    def sort_key(self) -> Callable[[QueuedPod], tuple[Any, ...]] | None:
        """Return the order of the queue; None for ``PrioritySort``."""
        names = self._points["queueSort"]
        if not names:
            return None
        name, less = names[0], self._plugins[names[0]].less

        def compare(first: QueuedPod, second: QueuedPod) -> int:
            try:
                return -1 if call(name, "QueueSort", less, first, second) else 1
            except PluginError:  # logged; an order is needed
                return -1 if priority_sort(first) < priority_sort(second) else 1

        key = cmp_to_key(compare)
        return lambda queued: (key(queued),)

    # Scheduling cycle

    def adapters(self) -> tuple[dict[str, OutOfTreePlugin], tuple[str, ...], tuple[str, ...]]:
        """Return the plugins for the scheduling cycle, and the names of those that filter and that score."""
        filters, scorers = (
            tuple(dict.fromkeys(name for point in points for name in self._points[point]))
            for points in (FILTERING, SCORING)
        )
        adapters = {
            name: OutOfTreePlugin(
                name,
                self._plugins[name],
                frozenset(point for point, names in self._points.items() if name in names),
                self._state,
            )
            for name in {*filters, *scorers}
        }
        return adapters, filters, scorers

    def has(self, name: str) -> bool:
        """Report whether the plugin is out of tree."""
        return name in self._plugins

    async def post_filter(self, name: str, pod: PodInfo, failure: FitError) -> tuple[str, str]:
        """Run a PostFilter plugin; return the nominated node, empty without one, and a message.

        Raises ``PluginError``.
        """
        rejections = {
            node: Status(Code.UNSCHEDULABLE if item.resolvable else Code.UNSCHEDULABLE_AND_UNRESOLVABLE, item.reasons)
            for node, item in failure.rejections.items()
        }
        method = self._plugins[name].post_filter
        result = await call_async(name, "PostFilter", method, self._state(pod), pod, rejections)
        outcome = expect(name, "PostFilter", result, PostFilterResult)
        if isinstance(outcome, PostFilterResult):
            return outcome.nominated_node, ""
        return "", outcome.message if outcome is not None else ""

    def reserve(self, pod: PodInfo, node: str) -> None:
        """Run the Reserve plugins. Raises ``PluginRejection``, ``PluginError``; then call ``unreserve``."""
        for name in self._points["reserve"]:
            result = call(name, "Reserve", self._plugins[name].reserve, self._state(pod), pod, node)
            require_success(name, "Reserve", result)

    def unreserve(self, pod: PodInfo, node: str) -> None:
        """Undo the Reserve plugins, in reverse order."""
        for name in reversed(self._points["reserve"]):
            try:
                call(name, "Unreserve", self._plugins[name].unreserve, self._state(pod), pod, node)
            except PluginError:
                continue  # logged; the others must release their resources

    def permit(self, pod: PodInfo, node: str) -> PermitWait | None:
        """Run the Permit plugins; return the wait if one of them waits. Raises ``PluginRejection``, ``PluginError``."""
        timeouts: dict[str, float] = {}
        for name in self._points["permit"]:
            result = call(name, "Permit", self._plugins[name].permit, self._state(pod), pod, node)
            outcome = expect(name, "Permit", result, Wait)
            if isinstance(outcome, Status):
                raise PluginRejection(rejection_of(name, outcome))
            if outcome is not None:
                timeouts[name] = min(outcome.timeout_seconds, TIMEOUT_MAX_SECONDS)
        return PermitWait(pod, node, timeouts, clock=self._clock) if timeouts else None

    # Binding cycle

    @property
    def has_pre_bind(self) -> bool:
        """True if there are PreBind plugins."""
        return bool(self._points["preBind"])

    async def pre_bind(self, pod: PodInfo, node: str) -> None:
        """Run the PreBind plugins. Raises ``PluginRejection``, ``PluginError``."""
        for name in self._points["preBind"]:
            result = await call_async(name, "PreBind", self._plugins[name].pre_bind, self._state(pod), pod, node)
            require_success(name, "PreBind", result)

    async def bind(self, name: str, pod: PodInfo, node: str) -> bool:
        """Run a Bind plugin; return False if it skips the pod. Raises ``PluginRejection``, ``PluginError``."""
        result = await call_async(name, "Bind", self._plugins[name].bind, self._state(pod), pod, node)
        if isinstance(result, Status) and result.code is Code.SKIP:
            return False
        require_success(name, "Bind", result)
        return True

    def post_bind(self, pod: PodInfo, node: str) -> None:
        """Run the PostBind plugins."""
        for name in self._points["postBind"]:
            try:
                call(name, "PostBind", self._plugins[name].post_bind, self._state(pod), pod, node)
            except PluginError:
                continue  # logged; the pod is bound


def make_runtime(
    settings: ProfileSettings, registry: Mapping[str, Any], handle: Handle, *, clock: Clock
) -> PluginRuntime | None:
    """Create the out-of-tree plugins that a profile enables; None without any. Raises ``ConfigurationError``."""
    enabled = dict.fromkeys(name for names in settings.plugins.points.values() for name in names if name in registry)
    if not enabled:
        return None
    plugins: dict[str, Any] = {}
    for name in enabled:
        args = convert_args(registry[name], settings.args.get(name) or {})
        try:
            plugins[name] = registry[name](args, handle)
        except Exception as error:
            raise _initialization_error(name, error) from error
    return PluginRuntime(settings, plugins, clock=clock)


def _registered_events(name: str, plugin: EnqueueExtensions) -> tuple[ClusterEventWithHint, ...]:
    try:
        return tuple(plugin.events_to_register())
    except Exception as error:
        raise _initialization_error(name, error) from error


def _initialization_error(name: str, error: Exception) -> ConfigurationError:
    return ConfigurationError(f"initializing plugin {quote(name)}: {type(error).__name__}: {error}")
