"""The scheduler's loop: one pod after another is decided on at once, what was decided is written beside it."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.asynckit.tasks import Supervisor
from steersman.client.errors import ClientError
from steersman.scheduler.brain import Brain, Failed, Placed
from steersman.scheduler.claims import ClaimChangedError, ClaimWriter
from steersman.scheduler.following import Following
from steersman.scheduler.metrics import SchedulerMetrics
from steersman.scheduler.pod_info import DEFAULT_SCHEDULER
from steersman.scheduler.writing import SCHEDULER_ERROR, UNSCHEDULABLE, BindingTimeoutError, Writer

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from steersman.runtime.context import ControllerContext

_log = logging.getLogger(__name__)

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

    def __init__(
        self, context: ControllerContext, *, scheduler_name: str = DEFAULT_SCHEDULER, instance: str = "", share: int = 0
    ) -> None:
        """``instance``: who reports events, as ``default-scheduler-<host>``. ``share``: ``percentageOfNodesToScore``."""
        self._clock = context.clock
        self.brain: Final = Brain(
            dice=context.dice,
            monotonic=context.clock.monotonic,
            names=frozenset({scheduler_name}),
            share=share,
        )
        recorder = context.events.series_recorder(scheduler_name, instance or scheduler_name)
        self._writer = Writer(context.client, recorder, self.brain.catalog, scheduler=scheduler_name)
        self._claims = ClaimWriter(context.client, self.brain.devices)
        self._wanted = asyncio.Event()
        self._following = Following(context.informers, self.brain, wake=self._woken)
        self._writes = Supervisor("scheduler: writes")
        self._free = asyncio.Semaphore(WRITES_MAX)
        self._stopping = False
        self._ready = False
        self.metrics: Final = SchedulerMetrics(self.brain.queue)
        context.metrics.registry.register(self.metrics)

    @property
    def is_ready(self) -> bool:
        """Whether the cluster is known and pods are being scheduled."""
        return self._ready

    def stop(self) -> None:
        """End after what is under way."""
        self._stopping = True
        self._wanted.set()

    async def run(self) -> None:
        """Schedule until ``stop``."""
        try:
            self._following.start()
            await self._following.wait_synced()
            self._ready = True
            flushed = self._clock.monotonic()
            while not self._stopping:
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
            self._ready = False
            await self._writes.close()

    def _woken(self) -> None:
        self._writer.claims_changed()
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
            self.metrics.attempted(result, self._clock.monotonic() - began)
            work = self._place(result) if isinstance(result, Placed) else self._report(result)
            self._writes.start(f"pod {result.queued.pod.key}", self._write(work))
        return True

    async def _write(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        finally:
            self._free.release()

    async def _place(self, placed: Placed) -> None:
        pod = placed.queued.pod
        try:
            if placed.takes_steps:
                await self._prepare(placed)
            await self._writer.bind(pod, placed.node)
        except (ClientError, BindingTimeoutError, ClaimChangedError) as error:
            _log.info("pod %s was not bound to %s: %s", pod.key, placed.node, error)
            self.brain.not_bound(placed)
            self._woken()
            await self._release(placed)
            await self._told(pod, SCHEDULER_ERROR, str(error))
        except BaseException:
            self.brain.not_bound(placed)
            raise
        else:
            self.brain.bound(placed)
            self.metrics.bound(placed, self._clock.monotonic())

    async def _prepare(self, placed: Placed) -> None:
        """What must be done before the pod is bound (``PreBind``)."""
        pod = placed.queued.pod
        await self._writer.nominate(pod, placed.node)
        if placed.volumes.static or placed.volumes.provision:
            await self._writer.bind_volumes(placed.volumes, placed.node)
        await self._claims.reserve(placed.devices, pod)

    async def _release(self, placed: Placed) -> None:
        try:
            await self._claims.release(placed.devices, placed.queued.pod)
        except ClientError as error:
            _log.warning("claims of pod %s are still reserved for it: %s", placed.queued.pod.key, error)

    async def _report(self, failed: Failed) -> None:
        pod, victims = failed.queued.pod, failed.victims
        nominated = victims.node if victims is not None else None
        reason = SCHEDULER_ERROR if failed.is_fault else UNSCHEDULABLE
        await self._told(pod, reason, failed.message, nominated=nominated)
        if failed.deallocate is not None:
            await self._deallocate(failed.deallocate)
        if victims is None:
            return
        try:
            await self._writer.evict(pod, victims)
        except ClientError as error:
            _log.warning("could not evict all that are in the way of pod %s: %s", pod.key, error)
            self.brain.cycle.withdraw(pod.uid)
        for other in self.brain.outranked(pod, victims.node):
            await self._writer.withdraw_nomination(other)

    async def _deallocate(self, claim: Any) -> None:
        try:
            await self._claims.deallocate(claim)
        except ClientError as error:
            _log.warning("could not give back the devices of claim %s: %s", claim.metadata.name, error)

    async def _told(self, pod: Any, reason: str, message: str, *, nominated: str | None = None) -> None:
        try:
            await self._writer.report(pod, reason, message, nominated=nominated)
        except ClientError as error:
            _log.warning("could not report on pod %s: %s", pod.key, error)
