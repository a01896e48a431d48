"""Time of the change that triggered an endpoints update, for measuring network programming latency."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from steersman.apimachinery.timestamps import format_time
from steersman.client.objects import metadata_field, name_of
from steersman.workloads.pods import ready_condition

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from lightkube.models.core_v1 import Pod, Service


class _ServiceState(NamedTuple):
    service: datetime | None
    pods: dict[str, datetime]


class TriggerTimes:
    """Last observed state of each Service. Upstream: ``TriggerTimeTracker``."""

    def __init__(self) -> None:
        self._states: dict[str, _ServiceState] = {}

    def forget(self, key: str) -> None:
        """Remove a deleted Service."""
        self._states.pop(key, None)

    def last_change_trigger_time(self, key: str, service: Service, pods: Sequence[Pod]) -> str | None:
        """Return the earliest change since the last call; of a new Service its creation time.

        None if no change has a time.
        """
        created = metadata_field(service, "creationTimestamp")
        moments = {name_of(pod): since for pod in pods if (since := _moment(pod)) is not None}
        before = self._states.get(key)
        self._states[key] = _ServiceState(created, moments)
        if before is None:
            return format_time(created) if created is not None else None
        news = [since for name, since in moments.items() if name not in before.pods or since > before.pods[name]]
        if created is not None and (before.service is None or created > before.service):
            news.append(created)
        return format_time(min(news)) if news else None


def _moment(pod: Pod) -> datetime | None:
    """Return the transition time of the pod's ``Ready`` condition."""
    ready = ready_condition(pod)
    return ready.lastTransitionTime if ready is not None else None
