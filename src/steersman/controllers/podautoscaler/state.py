"""Status of an autoscaler during a reconcile."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lightkube.models.autoscaling_v2 import (
    HorizontalPodAutoscalerCondition,
    HorizontalPodAutoscalerStatus,
    MetricStatus,
)

from steersman.runtime.conditions import with_condition

if TYPE_CHECKING:
    from datetime import datetime

    from lightkube.models.autoscaling_v2 import HorizontalPodAutoscaler


@dataclass(slots=True)
class State:
    """Starts as the stored status and collects changes."""

    now: datetime
    current: int = 0
    desired: int = 0
    metrics: list[MetricStatus] | None = None
    scaled_at: datetime | None = None
    conditions: list[HorizontalPodAutoscalerCondition] = field(default_factory=list)

    @classmethod
    def of(cls, autoscaler: HorizontalPodAutoscaler, *, now: datetime) -> State:
        """Return the state from the stored status."""
        status = autoscaler.status
        if status is None:
            return cls(now)
        return cls(
            now,
            status.currentReplicas or 0,
            status.desiredReplicas or 0,
            status.currentMetrics,
            status.lastScaleTime,
            list(status.conditions or ()),
        )

    def set_condition(self, type_: str, reason: str, message: str, *, status: bool) -> None:
        """Set a condition."""
        new = HorizontalPodAutoscalerCondition(
            type=type_, status=str(status), reason=reason, message=message, lastTransitionTime=self.now
        )
        self.conditions = with_condition(self.conditions, new, now="")

    def status(self) -> HorizontalPodAutoscalerStatus:
        """Return the status to write."""
        return HorizontalPodAutoscalerStatus(
            currentReplicas=self.current or None,
            desiredReplicas=self.desired,
            currentMetrics=self.metrics or None,
            lastScaleTime=self.scaled_at,
            conditions=self.conditions or None,
        )
