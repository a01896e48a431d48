"""How the scheduler is to work: what a configuration comes to, and what it is without one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.scheduler.configuration.plugin_args import default_args
from steersman.scheduler.configuration.plugin_sets import Enabled, expand
from steersman.scheduler.pod_info import DEFAULT_SCHEDULER

if TYPE_CHECKING:
    from collections.abc import Mapping

BACKOFF_INITIAL_SECONDS: Final = 1.0
BACKOFF_MAX_SECONDS: Final = 10.0
UNSCHEDULABLE_MAX_SECONDS: Final = 300.0


class ProfileSettings(msgspec.Struct, frozen=True, kw_only=True):
    """One way to schedule, for the pods that name it."""

    scheduler_name: str = DEFAULT_SCHEDULER
    #: At most so many hundredths of the nodes need be found for a pod; 0: fewer the larger the cluster.
    percentage_of_nodes_to_score: int = 0
    plugins: Enabled = msgspec.field(default_factory=lambda: expand(None))
    #: What each plugin that can be told something is told, with defaults, as in ``pluginConfig``.
    args: Mapping[str, Any] = msgspec.field(default_factory=default_args)


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """All of it. What only the process needs (election, connection) is in its options."""

    profiles: tuple[ProfileSettings, ...] = (ProfileSettings(),)
    pod_initial_backoff_seconds: float = BACKOFF_INITIAL_SECONDS
    pod_max_backoff_seconds: float = BACKOFF_MAX_SECONDS
    #: So long a pod waits for something to happen before it is tried again anyhow; only a flag tells it.
    pod_max_in_unschedulable_pods_seconds: float = UNSCHEDULABLE_MAX_SECONDS
