"""The scheduler's loop: one pod after another is decided on at once, what was decided is written beside it."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apimachinery.durations import parse_duration
from steersman.asynckit.stopping import run_unless_stopped
from steersman.asynckit.tasks import Supervisor
from steersman.client.errors import ClientError
from steersman.scheduler.brain import Brain, Failed, Placed
from steersman.scheduler.claims import ClaimChangedError, ClaimWriter, DevicesNotReadyError
from steersman.scheduler.configuration.settings import Settings
from steersman.scheduler.decision_log import log_bound, log_failed, logs_decisions
from steersman.scheduler.devices.readiness import BindingFailedError, awaits_devices
from steersman.scheduler.following import Following
from steersman.scheduler.metrics import SchedulerMetrics
from steersman.scheduler.writing import SCHEDULER_ERROR, UNSCHEDULABLE, BindingTimeoutError, Writer

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from steersman.runtime.context import ControllerContext
    from steersman.scheduler.plugins.dynamic_resources import Remedy

_log = logging.getLogger(__name__)

#: What can go wrong between a decision and its pod's binding.
_NOT_BOUND: Final = (ClientError, BindingTimeoutError, ClaimChangedError, DevicesNotReadyError, BindingFailedError)
#: Requests about pods that are under way at once; the loop waits when there are so many.
WRITES_MAX: Final = 64
#: Attempts in one turn of the event loop, so that answers and events are not kept waiting.
_TURN_ATTEMPTS: Final = 8
#: How often pods are looked at that have waited for too long.
_FLUSH_SECONDS: Final = 30.0
#: Sums of seconds are rounded: a wait that ends a little early must not be followed by one of no length, again and again.
_PAUSE_MIN_SECONDS: Final = 0.001


class Scheduler:
    """A runnable of a ``runtime.manager.Manager``."""

    name: ClassVar[str] = "scheduler"

    def __init__(self, context: ControllerContext, *, settings: Settings | None = None, host: str = "") -> None:
        """``host``: who reports events, as ``default-scheduler-<host>``. Raises ``PluginSetError``."""
        self._clock = context.clock
        self.brain: Final = Brain(
            settings or Settings(),
            dice=context.dice,
            monotonic=context.clock.monotonic,
            now=context.clock.now,
        )
        #: By ``schedulerName``, as each reports its own events.
        self._writers = {
            name: Writer(
                context.client,
                context.events.series_recorder(name, f"{name}-{host}" if host else name),
                self.brain.catalog,
                scheduler=name,
            )
            for name in self.brain.profiles
        }
        self._claims = ClaimWriter(context.client, self.brain.devices)
        self._wanted = asyncio.Event()
        self._following = Following(context.informers, self.brain, wake=self._woken)
        self._writes = Supervisor("scheduler: writes")
        self._free = asyncio.Semaphore(WRITES_MAX)
        self._stop_requested = asyncio.Event()
        self._ready = asyncio.Event()
        self._logs_decisions = logs_decisions()
        self.metrics: Final = SchedulerMetrics(self.brain.queue, self.brain.profiles)
        context.metrics.registry.register(self.metrics)

    @property
    def is_ready(self) -> bool:
        """Whether the cluster is known and pods are being scheduled."""
        return self._ready.is_set()

    async def wait_ready(self) -> None:
        """Wait for the first time that ``is_ready`` holds."""
        await self._ready.wait()

    def stop(self) -> None:
        """End after what is under way."""
        self._stop_requested.set()
        self._wanted.set()

    async def run(self) -> None:
        """Schedule until ``stop``."""
        try:
            self._following.start()
            if not await run_unless_stopped(self._following.wait_synced(), self._stop_requested):
                return
            self._ready.set()
            flushed = self._clock.monotonic()
            while not self._stop_requested.is_set():
                self._wanted.clear()
                tried = await self._some()
                now = self._clock.monotonic()
                if now - flushed >= _FLUSH_SECONDS:
                    flushed = now
                    self.brain.queue.flush_waiting(now)
                if tried:
                    await asyncio.sleep(0)  # noqa: TID251 — lets others have a turn, waits for no time
                else:
                    await self._wait(flushed + _FLUSH_SECONDS)
        finally:
            self._ready.clear()
            await self._writes.close()

    def _woken(self) -> None:
        for writer in self._writers.values():
            writer.claims_changed()
        self._claims.claims_changed()
        self._wanted.set()

    async def _wait(self, latest: float) -> None:
        """Until something happens, or the next backoff is over."""
        due = self.brain.queue.next_due
        until = latest if due is None else min(latest, due)
        timer = self._clock.timer(max(_PAUSE_MIN_SECONDS, until - self._clock.monotonic()), self._wanted.set)
        try:
            await self._wanted.wait()
        finally:
            timer.cancel()

    async def _some(self) -> bool:
        """A few attempts; whether there was anything to try."""
        for count in range(_TURN_ATTEMPTS):
            await self._free.acquire()
            began = self._clock.monotonic()
            result = self.brain.attempt(self._following.budgets.lister.list())
            if result is None:
                self._free.release()
                return count > 0
            seconds = self._clock.monotonic() - began
            self.metrics.attempted(result, seconds)
            if self._logs_decisions and isinstance(result, Failed):
                log_failed(result, seconds)
            work = self._place(result, began) if isinstance(result, Placed) else self._report(result)
            self._writes.start(f"pod {result.queued.pod.key}", self._write(work))
        return True

    async def _write(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        finally:
            self._free.release()

    async def _place(self, placed: Placed, began: float) -> None:
        """Bind a pod whose attempt began at ``began``."""
        pod = placed.queued.pod
        try:
            if placed.takes_steps:
                await self._prepare(placed)
            await self._writers[placed.profile.name].bind(pod, placed.node)
        except _NOT_BOUND as error:
            _log.info("pod %s was not bound to %s: %s", pod.key, placed.node, error)
            self.brain.not_bound(placed)
            self._woken()
            await self._release(placed)
            await self._told(placed, SCHEDULER_ERROR, str(error))
        except BaseException:
            self.brain.not_bound(placed)
            raise
        else:
            self.brain.bound(placed)
            self.metrics.bound(placed, self._clock.monotonic())
            if self._logs_decisions:
                log_bound(placed, self._clock.monotonic() - began)

    async def _prepare(self, placed: Placed) -> None:
        """What must be done before the pod is bound (``PreBind``)."""
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
                writer.devices_awaited(pod, placed.node)
                seconds = parse_duration(profile.settings.args["DynamicResources"]["bindingTimeout"])
                await self._claims.until_ready(claims, timeout_seconds=seconds)

    async def _release(self, placed: Placed) -> None:
        try:
            await self._claims.release(placed.devices, placed.queued.pod)
        except ClientError as error:
            _log.warning("claims of pod %s are still reserved for it: %s", placed.queued.pod.key, error)

    async def _report(self, failed: Failed) -> None:
        pod, victims = failed.queued.pod, failed.victims
        nominated = victims.node if victims is not None else None
        reason = SCHEDULER_ERROR if failed.is_fault else UNSCHEDULABLE
        await self._told(failed, reason, failed.message, nominated=nominated)
        await self._help(failed.remedy)
        if victims is None:
            return
        writer = self._writers[failed.profile.name]
        try:
            await writer.evict(pod, victims)
        except ClientError as error:
            _log.warning("could not evict all that are in the way of pod %s: %s", pod.key, error)
            self.brain.cycle.withdraw(pod.uid)
        for other in self.brain.outranked(pod, victims.node):
            await writer.withdraw_nomination(other)

    async def _help(self, remedy: Remedy) -> None:
        try:
            if remedy.deallocate is not None:
                await self._claims.deallocate(remedy.deallocate)
            if remedy.delete is not None:
                await self._claims.delete(remedy.delete)
        except ClientError as error:
            claim = remedy.deallocate or remedy.delete
            _log.warning("could not give back the devices of claim %s: %s", claim.metadata.name, error)

    async def _told(self, about: Placed | Failed, reason: str, message: str, *, nominated: str | None = None) -> None:
        pod = about.queued.pod
        try:
            await self._writers[about.profile.name].report(pod, reason, message, nominated=nominated)
        except ClientError as error:
            _log.warning("could not report on pod %s: %s", pod.key, error)
