"""Simulated probe results of a container: started, ready, or killed.

The application responds from ``start_seconds`` until ``hang_after_seconds``. Without these annotations all probes pass.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from steersman.apimachinery.timestamps import add_seconds
from steersman.nodes.simulation.events import Event

if TYPE_CHECKING:
    from datetime import datetime

    from steersman.apimachinery.trees import Tree
    from steersman.nodes.simulation.behavior import Behavior


_PERIOD_SECONDS = 10
_FAILURE_THRESHOLD = 3


class Kill(NamedTuple):
    """A probe that exceeded its failure threshold."""

    at: datetime
    #: ``startup`` or ``liveness``.
    probe: str

    def events(self, container: str) -> tuple[Event, ...]:
        """Return the kubelet's events about the kill."""
        return (
            Event("Warning", "Unhealthy", f"{self.probe.capitalize()} probe failed: simulated failure", container),
            Event(
                "Normal", "Killing", f"Container {container} failed {self.probe} probe, will be restarted", container
            ),
        )


class Health(NamedTuple):
    """Probe results at one time."""

    is_started: bool
    is_ready: bool
    #: Time of the next change of the results.
    due: datetime | None
    #: Kill by the startup or liveness probe.
    kill: Kill | None


class _Timing(NamedTuple):
    delay: float
    period: float
    threshold: int

    def first_check(self, seconds: float) -> float:
        """Return the time of the first check at or after ``seconds``, in seconds since the start."""
        return self.delay + max(0, math.ceil((seconds - self.delay) / self.period)) * self.period

    def gives_up(self, failing_from: float) -> float:
        """Return the time at which checks have failed ``threshold`` times."""
        return self.first_check(failing_from) + (self.threshold - 1) * self.period


def _timing(probe: Tree) -> _Timing:
    return _Timing(
        float(probe.get("initialDelaySeconds") or 0),
        float(probe.get("periodSeconds") or _PERIOD_SECONDS),
        int(probe.get("failureThreshold") or _FAILURE_THRESHOLD),
    )


def health(container: Tree, behavior: Behavior, *, began: datetime, now: datetime) -> Health:
    """Return the probe results of a container that runs since ``began``."""
    unready, hang = behavior.unready_after_seconds, behavior.hang_after_seconds
    if not behavior.start_seconds and unready is None and hang is None:
        return Health(is_started=True, is_ready=True, due=None, kill=None)
    started_at, kill = _startup(container, behavior)
    if kill is None:
        kill = _liveness(container, behavior)
    changes = {started_at, behavior.start_seconds}
    if unready is not None:
        changes.add(unready)
        if behavior.unready_seconds is not None:
            changes.add(unready + behavior.unready_seconds)
    if hang is not None:
        changes.add(hang)
    elapsed = (now - began).total_seconds()
    later = [change for change in changes if change > elapsed]
    is_started = elapsed >= started_at
    return Health(
        is_started,
        is_started and _is_ready(behavior, elapsed),
        add_seconds(began, min(later)) if later else None,
        Kill(add_seconds(began, kill[0]), kill[1]) if kill is not None else None,
    )


def _is_ready(behavior: Behavior, elapsed: float) -> bool:
    unready = behavior.unready_after_seconds
    if elapsed < behavior.start_seconds:
        return False
    if behavior.hang_after_seconds is not None and elapsed >= behavior.hang_after_seconds:
        return False
    if unready is None or elapsed < unready:
        return True
    return behavior.unready_seconds is not None and elapsed >= unready + behavior.unready_seconds


def _startup(container: Tree, behavior: Behavior) -> tuple[float, tuple[float, str] | None]:
    """Return the times at which the startup probe passes and kills the container, in seconds since the start."""
    probe = container.get("startupProbe")
    if not probe or not behavior.start_seconds:
        return 0.0, None
    timing = _timing(probe)
    passes, gives_up = timing.first_check(behavior.start_seconds), timing.gives_up(0.0)
    return passes, ((gives_up, "startup") if gives_up < passes else None)


def _liveness(container: Tree, behavior: Behavior) -> tuple[float, str] | None:
    """Return the time at which the liveness probe kills the container; None for never."""
    probe = container.get("livenessProbe")
    if not probe:
        return None
    timing = _timing(probe)
    if behavior.start_seconds and not container.get("startupProbe"):
        gives_up = timing.gives_up(0.0)
        if gives_up < behavior.start_seconds:
            return gives_up, "liveness"
    if behavior.hang_after_seconds is not None:
        return timing.gives_up(behavior.hang_after_seconds), "liveness"
    return None
