"""The scheduler's loop: scheduling cycles run one after another, bindings and status updates run as background tasks.

``SchedulerCore`` decides; this module performs the requests that a decision calls for, bounds their number and reports
their outcome back. It leaves leader election and serving to the process.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apimachinery.durations import parse_duration
from steersman.asynckit.stopping import run_unless_stopped
from steersman.asynckit.tasks import Supervisor
from steersman.client.errors import ClientError
from steersman.scheduler.claim_writer import ClaimChangedError, ClaimWriter, DevicesNotReadyError
from steersman.scheduler.configuration.settings import Settings
from steersman.scheduler.core import AssumedPod, SchedulerCore, UnschedulablePod
from steersman.scheduler.decision_log import log_bound, log_failed, logs_decisions
from steersman.scheduler.devices.readiness import BindingFailedError, awaits_devices
from steersman.scheduler.event_handlers import EventHandlers
from steersman.scheduler.framework import PluginError, PluginRejection
from steersman.scheduler.metrics import SchedulerMetrics
from steersman.scheduler.writer import SCHEDULER_ERROR, UNSCHEDULABLE, BindingTimeoutError, Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from steersman.asynckit.clock import Clock
    from steersman.runtime.context import ControllerContext
    from steersman.scheduler.configuration.settings import ProfileSettings
    from steersman.scheduler.extenders.chain import ExtenderChain
    from steersman.scheduler.out_of_tree.runtime import PluginRuntime
    from steersman.scheduler.out_of_tree.waiting import PermitWait
    from steersman.scheduler.plugins.dynamic_resources import PostFilterResult

_log = logging.getLogger(__name__)

#: Failures of the binding cycle.
_BINDING_ERRORS: Final = (
    ClientError, BindingTimeoutError, ClaimChangedError, DevicesNotReadyError, BindingFailedError, PluginError
)  # fmt: skip
#: Bound on concurrent binding and status tasks; the loop waits for a free slot.
WRITES_MAX: Final = 64
#: Attempts per turn of the event loop, so that responses and watch events are processed in between.
_TURN_ATTEMPTS: Final = 8
#: Interval for retrying pods that have been unschedulable for too long.
_FLUSH_SECONDS: Final = 30.0
#: Shortest wait: rounding of the clock must not produce a busy loop of zero-length waits.
_PAUSE_MIN_SECONDS: Final = 0.001


class Scheduler:
    """kube-scheduler as a runnable of ``runtime.manager.Manager``."""

    name: ClassVar[str] = "scheduler"

    def __init__(self, context: ControllerContext, *, settings: Settings | None = None, host: str = "") -> None:
        """``host``: suffix of the reporting instance of events, ``default-scheduler-<host>``. Raises
        ``PluginSetError``; ``ConfigError``, OSError for certificates of extenders; ``ConfigurationError`` of plugins.
        """
        self._clock = context.clock
        self._wake_event = asyncio.Event()
        settings = settings or Settings()
        self._extenders = _extenders(settings, self._clock)
        self.core: Final = SchedulerCore(
            settings,
            dice=context.dice,
            monotonic=context.clock.monotonic,
            now=context.clock.now,
            extenders=self._extenders,
            make_plugins=partial(_make_plugins, settings, context, self._wake),
        )
        self._informers = context.informers
        #: Keyed by ``schedulerName``, which is also the reporting controller of events.
        self._writers = {
            name: Writer(
                context.client,
                context.events.series_recorder(name, f"{name}-{host}" if host else name),
                self.core.catalog,
                scheduler=name,
            )
            for name in self.core.profiles
        }
        self._claims = ClaimWriter(context.client, self.core.devices)
        self._event_handlers = EventHandlers(context.informers, self.core, wake=self._wake)
        self._writes = Supervisor("scheduler: writes")
        self._free = asyncio.Semaphore(WRITES_MAX)
        self._stop_requested = asyncio.Event()
        self._ready = asyncio.Event()
        self._logs_decisions = logs_decisions()
        self.metrics: Final = SchedulerMetrics(self.core.queue, self.core.cluster, self.core.profiles)
        context.metrics.registry.register(self.metrics)

    @property
    def is_ready(self) -> bool:
        """True once the informers have synced, until the loop ends."""
        return self._ready.is_set()

    async def wait_ready(self) -> None:
        """Wait until ``is_ready`` is true for the first time."""
        await self._ready.wait()

    def stop(self) -> None:
        """Request the loop to end after the current attempt."""
        self._stop_requested.set()
        self._wake_event.set()

    async def run(self) -> None:
        """Schedule pods until ``stop``."""
        try:
            self._event_handlers.start()
            if self.core.has_plugins:
                self._informers.start()
            if not await run_unless_stopped(self._wait_synced(), self._stop_requested):
                return
            self._ready.set()
            flushed = self._clock.monotonic()
            while not self._stop_requested.is_set():
                self._wake_event.clear()
                tried = await self._attempt_batch()
                now = self._clock.monotonic()
                if now - flushed >= _FLUSH_SECONDS:
                    flushed = now
                    self.core.queue.flush_unschedulable(now)
                if tried:
                    await asyncio.sleep(0)  # noqa: TID251 — yields to other tasks, waits for no time
                else:
                    # Without unschedulable pods there is nothing to flush.
                    await self._wait(flushed + _FLUSH_SECONDS if self.core.queue.has_unschedulable else None)
        finally:
            self._ready.clear()
            await self._writes.close()
            if self._extenders is not None:
                await self._extenders.close()

    async def _wait_synced(self) -> None:
        await self._event_handlers.wait_synced()
        if self.core.has_plugins:
            await self._informers.wait_synced()

    def _wake(self) -> None:
        for writer in self._writers.values():
            writer.claims_changed()
        self._claims.claims_changed()
        self._wake_event.set()

    async def _wait(self, latest: float | None) -> None:
        """Wait for a cluster event, the end of the next backoff, or ``latest`` if given."""
        ends = [moment for moment in (latest, self.core.queue.next_backoff_end) if moment is not None]
        if not ends:
            await self._wake_event.wait()
            return
        timer = self._clock.timer(max(_PAUSE_MIN_SECONDS, min(ends) - self._clock.monotonic()), self._wake_event.set)
        try:
            await self._wake_event.wait()
        finally:
            timer.cancel()

    async def _attempt_batch(self) -> bool:
        """Run a batch of attempts; return False if there was no active pod."""
        for count in range(_TURN_ATTEMPTS):
            await self._free.acquire()
            began = self._clock.monotonic()
            result = await self.core.schedule_one(self._event_handlers.budgets.lister.list())
            if result is None:
                self._free.release()
                return count > 0
            seconds = self._clock.monotonic() - began
            self.metrics.decided(result, seconds)
            if self._logs_decisions and isinstance(result, UnschedulablePod):
                log_failed(result, seconds)
            name = f"pod {result.queued.pod.key}"
            if isinstance(result, AssumedPod) and result.wait is not None:
                self._free.release()  # waiting pods must not keep others from being bound
                self._writes.start(name, self._wait_on_permit(result, result.wait, began))
                continue
            work = self._place(result, began) if isinstance(result, AssumedPod) else self._report(result)
            self._writes.start(name, self._write(work))
        return True

    async def _wait_on_permit(self, placed: AssumedPod, wait: PermitWait, began: float) -> None:
        """Bind or reject a pod after its Permit plugins have decided. Upstream: ``WaitOnPermit``."""
        work: Coroutine[Any, Any, None]
        try:
            await wait.wait()
        except PluginRejection as rejected:
            work = self._reject(placed, rejected)
        else:
            work = self._place(placed, began)
        try:
            await self._free.acquire()
        except BaseException:
            work.close()
            raise
        await self._write(work)

    async def _reject(self, placed: AssumedPod, rejected: PluginRejection) -> None:
        """Forget an assumed pod that a plugin rejected, and report it as unschedulable."""
        failed = self.core.reject_assumed(placed, rejected.rejection)
        self._wake()
        await self._release(placed)
        await self._report_failure(failed, UNSCHEDULABLE, failed.message)

    async def _write(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        finally:
            self._free.release()

    async def _place(self, placed: AssumedPod, began: float) -> None:
        """Run the binding cycle of a pod whose attempt started at ``began``."""
        pod = placed.queued.pod
        try:
            if placed.needs_pre_bind:
                await self._prepare(placed)
            await self._bind(placed)
        except PluginRejection as rejected:
            await self._reject(placed, rejected)
        except _BINDING_ERRORS as error:
            _log.info("pod %s was not bound to %s: %s", pod.key, placed.node, error)
            self.core.binding_failed(placed)
            self.metrics.not_bound(placed, self._clock.monotonic() - began)
            self._wake()
            await self._release(placed)
            await self._report_failure(placed, SCHEDULER_ERROR, str(error))
        except BaseException:
            self.core.binding_failed(placed)
            raise
        else:
            self.core.binding_succeeded(placed)
            self.metrics.bound(placed, started=began, now=self._clock.monotonic())
            if self._logs_decisions:
                log_bound(placed, self._clock.monotonic() - began)

    async def _bind(self, placed: AssumedPod) -> None:
        """Bind the pod by an extender, or by the Bind plugins. Raises ``PluginError``, ``PluginRejection``, ClientError."""
        pod, node, runtime = placed.queued.pod, placed.node, placed.profile.runtime
        writer = self._writers[placed.profile.name]
        if self._extenders is not None and await self._bind_elsewhere(placed, self._extenders.bind(pod, node)):
            return
        for name in placed.profile.settings.plugins.points["bind"]:
            if runtime is None or not runtime.has(name):
                await writer.bind(pod, node)
                return
            if await self._bind_elsewhere(placed, runtime.bind(name, pod, node)):
                return
        raise PluginError(f"no bind plugin binds pod {pod.key}")

    async def _bind_elsewhere(self, placed: AssumedPod, work: Coroutine[Any, Any, bool]) -> bool:
        """Await a binding that an extender or a plugin performs; return False if it does not bind this pod."""
        pod, writer = placed.queued.pod, self._writers[placed.profile.name]
        try:
            bound = await work
        except PluginError:
            # The answer may have been lost after the binding: resources stay reserved until the outcome is certain.
            bound = await writer.is_bound(pod, placed.node)
            if not bound:
                raise
        if bound:
            writer.record_bound(pod, placed.node)
        return bound

    async def _prepare(self, placed: AssumedPod) -> None:
        """Run the PreBind plugins."""
        pod, profile = placed.queued.pod, placed.profile
        writer, plugins = self._writers[profile.name], profile.settings.plugins
        await writer.nominate(pod, placed.node)
        volumes = placed.volumes
        if (volumes.static or volumes.provision) and plugins.has("preBind", "VolumeBinding"):
            seconds = profile.settings.args["VolumeBinding"]["bindTimeoutSeconds"]
            await writer.bind_volumes(volumes, placed.node, timeout_seconds=seconds)
        if plugins.has("preBind", "DynamicResources"):
            claims = await self._claims.reserve(placed.devices, pod)
            if any(map(awaits_devices, claims)):
                writer.report_devices_pending(pod, placed.node)
                seconds = parse_duration(profile.settings.args["DynamicResources"]["bindingTimeout"])
                await self._claims.until_ready(claims, timeout_seconds=seconds)
        if profile.runtime is not None:
            await profile.runtime.pre_bind(pod, placed.node)

    async def _release(self, placed: AssumedPod) -> None:
        try:
            await self._claims.release(placed.devices, placed.queued.pod)
        except ClientError as error:
            _log.warning("claims of pod %s are still reserved for it: %s", placed.queued.pod.key, error)

    async def _report(self, failed: UnschedulablePod) -> None:
        pod, victims = failed.queued.pod, failed.victims
        nominated = failed.nominated_node or None
        reason = SCHEDULER_ERROR if failed.is_fault else UNSCHEDULABLE
        await self._report_failure(failed, reason, failed.message, nominated=nominated)
        await self._release_claims(failed.post_filter_result)
        if victims is None:
            return
        writer = self._writers[failed.profile.name]
        try:
            await writer.evict(pod, victims)
        except ClientError as error:
            _log.warning("could not evict all that are in the way of pod %s: %s", pod.key, error)
            self.core.cycle.remove_nomination(pod.uid)
        for other in self.core.clear_lower_priority_nominations(pod, victims.node):
            await writer.withdraw_nomination(other)

    async def _release_claims(self, post_filter_result: PostFilterResult) -> None:
        try:
            if post_filter_result.deallocate is not None:
                await self._claims.deallocate(post_filter_result.deallocate)
            if post_filter_result.delete is not None:
                await self._claims.delete(post_filter_result.delete)
        except ClientError as error:
            claim = post_filter_result.deallocate or post_filter_result.delete
            _log.warning("could not give back the devices of claim %s: %s", claim.metadata.name, error)

    async def _report_failure(
        self, about: AssumedPod | UnschedulablePod, reason: str, message: str, *, nominated: str | None = None
    ) -> None:
        pod = about.queued.pod
        try:
            await self._writers[about.profile.name].report(pod, reason, message, nominated=nominated)
        except ClientError as error:
            _log.warning("could not report on pod %s: %s", pod.key, error)


def _extenders(settings: Settings, clock: Clock) -> ExtenderChain | None:
    """Return the extenders of the configuration; None without any."""
    if not settings.extenders:
        return None
    from steersman.scheduler.extenders.chain import connect_extenders  # noqa: PLC0415 — few have extenders

    return connect_extenders(settings.extenders, clock=clock)


def _make_plugins(
    settings: Settings,
    context: ControllerContext,
    wake: Callable[[], None],
    profile: ProfileSettings,
    core: SchedulerCore,
) -> PluginRuntime | None:
    """Create the out-of-tree plugins of a profile. Raises ``ConfigurationError``."""
    if not settings.plugins:
        return None
    from steersman.scheduler.out_of_tree.handle import SchedulerHandle  # noqa: PLC0415 — few have such plugins
    from steersman.scheduler.out_of_tree.runtime import make_runtime  # noqa: PLC0415 — as above

    handle = SchedulerHandle(core, context.client, context.informers, wake=wake)
    return make_runtime(profile, settings.plugins, handle, clock=context.clock)
