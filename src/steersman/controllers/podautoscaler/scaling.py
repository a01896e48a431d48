"""Bounds, stabilization and scaling policies. Pure; time is a parameter.

Upstream: ``pkg/controller/podautoscaler/horizontal.go``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lightkube.models.autoscaling_v2 import HorizontalPodAutoscalerBehavior, HPAScalingPolicy, HPAScalingRules

#: Without a behavior no step may be larger than this factor, or than this many replicas.
_STEP_FACTOR: Final = 2
_STEP_MIN: Final = 4

_WITHIN: Final = ("DesiredWithinRange", "the desired count is within the acceptable range")
_TOO_FEW: Final = ("TooFewReplicas", "the desired replica count is less than the minimum replica count")
_TOO_MANY: Final = ("TooManyReplicas", "the desired replica count is more than the maximum replica count")
_UP_LIMIT: Final = ("ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate")
_DOWN_LIMIT: Final = ("ScaleDownLimit", "the desired replica count is decreasing faster than the maximum scale rate")
_READY: Final = ("ReadyForNewScale", "recommended size matches current size")
_DOWN_STABLE: Final = (
    "ScaleDownStabilized",
    "recent recommendations were higher than current one, applying the highest recent recommendation",
)
_UP_STABLE: Final = (
    "ScaleUpStabilized",
    "recent recommendations were lower than current one, applying the lowest recent recommendation",
)


class TimestampedValue(NamedTuple):
    """A number and its monotonic time in seconds."""

    at: float
    value: int


class Limits(NamedTuple):
    """Bounds of a spec."""

    least: int
    most: int


class Normalized(NamedTuple):
    """Final replicas, and reason and message of the two conditions."""

    replicas: int
    able: tuple[str, str]
    limited: tuple[str, str]
    is_limited: bool


@dataclass(slots=True)
class History:
    """Recommendations and scale events of one autoscaler, no older than the longest window."""

    recommendations: list[TimestampedValue] = field(default_factory=list)
    scale_ups: list[TimestampedValue] = field(default_factory=list)
    scale_downs: list[TimestampedValue] = field(default_factory=list)

    def begin(self, current: int, *, now: float) -> None:
        """Record the current size as the first recommendation."""
        if not self.recommendations:
            self.recommendations.append(TimestampedValue(now, current))

    def scaled(self, before: int, after: int, behavior: HorizontalPodAutoscalerBehavior | None, *, now: float) -> None:
        """Record a scale event."""
        if behavior is None:
            return
        events, change = (self.scale_ups, after - before) if after > before else (self.scale_downs, before - after)
        rules = [rule for rule in (behavior.scaleUp, behavior.scaleDown) if rule is not None]
        longest = max((policy.periodSeconds for rule in rules for policy in rule.policies or ()), default=0)
        events[:] = [event for event in events if event.at > now - longest]
        events.append(TimestampedValue(now, change))

    def record_recommendation(self, proposed_replicas: int, *, window_seconds: float, now: float) -> None:
        """Record a recommendation before stabilization and bounds."""
        self.recommendations[:] = [
            recommendation for recommendation in self.recommendations if recommendation.at > now - window_seconds
        ]
        self.recommendations.append(TimestampedValue(now, proposed_replicas))


def normalize(
    history: History, current: int, proposed_replicas: int, limits: Limits, *, window_seconds: float, now: float
) -> Normalized:
    """Return the replicas without ``behavior``: stabilized down by the window's maximum, limited up by step."""
    recent = [
        recommendation.value for recommendation in history.recommendations if recommendation.at > now - window_seconds
    ]
    stable = max([proposed_replicas, *recent])
    history.record_recommendation(proposed_replicas, window_seconds=window_seconds, now=now)
    step = max(_STEP_FACTOR * current, _STEP_MIN)
    most, reason = (step, _UP_LIMIT) if limits.most > step else (limits.most, _TOO_MANY)
    able = _READY if stable == proposed_replicas else _DOWN_STABLE
    return _clamped(stable, _Bounds(limits.least, _TOO_FEW, most, reason), able)


class _Bounds(NamedTuple):
    """Minimum and maximum, and the reasons at either."""

    least: int
    too_few: tuple[str, str]
    most: int
    too_many: tuple[str, str]


def _clamped(stable: int, bounds: _Bounds, able: tuple[str, str]) -> Normalized:
    if stable < bounds.least:
        return Normalized(bounds.least, able, bounds.too_few, is_limited=True)
    if stable > bounds.most:
        return Normalized(bounds.most, able, bounds.too_many, is_limited=True)
    return Normalized(stable, able, _WITHIN, is_limited=False)


def normalize_with_behavior(
    history: History,
    current: int,
    proposed_replicas: int,
    limits: Limits,
    behavior: HorizontalPodAutoscalerBehavior,
    *,
    window_seconds: float,
    now: float,
) -> Normalized:
    """Return the replicas with the windows and policies of ``behavior``.

    ``window_seconds``: default stabilization window for scaling down.
    """
    up_window = _window(behavior.scaleUp, 0.0)
    down_window = _window(behavior.scaleDown, window_seconds)
    lowest = min(
        [
            proposed_replicas,
            *(
                recommendation.value
                for recommendation in history.recommendations
                if recommendation.at > now - up_window
            ),
        ]
    )
    highest = max(
        [
            proposed_replicas,
            *(
                recommendation.value
                for recommendation in history.recommendations
                if recommendation.at > now - down_window
            ),
        ]
    )
    stable = min(max(current, lowest), highest)
    history.record_recommendation(proposed_replicas, window_seconds=max(up_window, down_window), now=now)
    able = _READY if stable == proposed_replicas else _UP_STABLE if proposed_replicas >= current else _DOWN_STABLE
    if stable > current:
        limit = max(current, _up_limit(history, current, behavior.scaleUp, now))
        most, reason = (limit, _UP_LIMIT) if limits.most > limit else (limits.most, _TOO_MANY)
        return _clamped(stable, _Bounds(0, _TOO_FEW, most, reason), able)
    if stable < current:
        limit = min(current, _down_limit(history, current, behavior.scaleDown, now))
        least, reason = (limit, _DOWN_LIMIT) if limits.least < limit else (limits.least, _TOO_FEW)
        return _clamped(stable, _Bounds(least, reason, stable, _TOO_MANY), able)
    return Normalized(stable, able, _WITHIN, is_limited=False)


def _window(rules: HPAScalingRules | None, default: float) -> float:
    seconds = rules.stabilizationWindowSeconds if rules is not None else None
    return default if seconds is None else float(seconds)


def _start(history: History, current: int, policy: HPAScalingPolicy, now: float) -> int:
    """Return the replicas at the start of the policy's period."""
    since = now - policy.periodSeconds
    return current - _sum(history.scale_ups, since) + _sum(history.scale_downs, since)


def _sum(events: Iterable[TimestampedValue], since: float) -> int:
    return sum(event.value for event in events if event.at > since)


def _up_limit(history: History, current: int, rules: HPAScalingRules | None, now: float) -> int:
    policies = (rules.policies if rules else None) or ()
    if rules is None or rules.selectPolicy == "Disabled":
        return current
    proposed = []
    for policy in policies:
        start = _start(history, current, policy, now)
        percent = ceil(start * (1 + policy.value / 100))
        proposed.append(start + policy.value if policy.type == "Pods" else percent)
    return (min if rules.selectPolicy == "Min" else max)(proposed, default=current)


def _down_limit(history: History, current: int, rules: HPAScalingRules | None, now: float) -> int:
    policies = (rules.policies if rules else None) or ()
    if rules is None or rules.selectPolicy == "Disabled":
        return current
    proposed = []
    for policy in policies:
        start = _start(history, current, policy, now)
        proposed.append(start - policy.value if policy.type == "Pods" else int(start * (1 - policy.value / 100)))
    return (max if rules.selectPolicy == "Min" else min)(proposed, default=current)
