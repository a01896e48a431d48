"""Periodic probes of one run of a container: startup, then readiness and liveness.

Each failed result is an ``Unhealthy`` event; a probe that cannot run is retried twice immediately, and then has no result.
Upstream: pkg/kubelet/prober (``worker.go``, ``prober.go``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from steersman.nodes.processes.probes import ProbeError, ProbeResult, ProbeThreshold, run_probe

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.apimachinery.trees import Tree
    from steersman.asynckit.clock import Clock
    from steersman.nodes.processes.probes import Execute

#: Attempts of a probe that cannot run.
_ATTEMPTS: Final = 3


class EventSink(Protocol):
    """Recorder of events about the pod."""

    def event(self, kind: str, reason: str, message: str) -> None:
        """Record an event of type ``Normal`` or ``Warning``."""


class Prober:
    """Probes of a container that has just started."""

    def __init__(self, container: Tree, *, execute: Execute, events: EventSink, clock: Clock) -> None:
        self._container = container
        self._execute = execute
        self._events = events
        self._clock = clock
        self._started_at = clock.monotonic()

    async def wait_until_started(self) -> bool:
        """Run the startup probe until it passes or exceeds its failure threshold; return True if it passed."""
        probe = self._container.get("startupProbe")
        if not probe:
            return True
        threshold = ProbeThreshold(probe, passing=False)
        await self._watch("Startup", probe, threshold, lambda: threshold.passing or threshold.has_failed)
        return threshold.passing

    async def watch_readiness(self, changed: Callable[[bool], None]) -> None:
        """Run the readiness probe forever; report each change of its result."""
        probe = self._container["readinessProbe"]
        threshold = ProbeThreshold(probe, passing=False)
        await self._watch("Readiness", probe, threshold, lambda: False, changed)

    async def wait_until_dead(self) -> None:
        """Run the liveness probe until it exceeds its failure threshold."""
        probe = self._container["livenessProbe"]
        threshold = ProbeThreshold(probe, passing=True)
        await self._watch("Liveness", probe, threshold, lambda: threshold.has_failed)

    async def _watch(
        self,
        kind: str,
        probe: Tree,
        threshold: ProbeThreshold,
        is_done: Callable[[], bool],
        changed: Callable[[bool], None] = lambda _: None,
    ) -> None:
        clock, period = self._clock, float(probe.get("periodSeconds") or 10)
        # The initial delay counts from the start of the container, not from the end of its startup probe.
        due = max(clock.monotonic(), self._started_at + float(probe.get("initialDelaySeconds") or 0))
        while True:
            await clock.sleep(max(0.0, due - clock.monotonic()))
            result = await self._run(kind, probe)
            if result is not None and threshold.count(result.has_passed):
                changed(threshold.passing)
            if is_done():
                return
            due = max(due + period, clock.monotonic())

    async def _run(self, kind: str, probe: Tree) -> ProbeResult | None:
        """Run a probe and record its failure; None if it could not run."""
        reason = ""
        for _ in range(_ATTEMPTS):
            try:
                result = await run_probe(probe, self._container, execute=self._execute, clock=self._clock)
            except ProbeError as error:
                reason = str(error)
                continue
            if not result.has_passed:
                self._events.event("Warning", "Unhealthy", f"{kind} probe failed: {result.output}")
            return result
        self._events.event("Warning", "Unhealthy", f"{kind} probe errored and resulted in unknown state: {reason}")
        return None
