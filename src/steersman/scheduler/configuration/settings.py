"""Settings of the scheduler, the result of a configuration, with their defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.scheduler.configuration.plugin_args import default_args
from steersman.scheduler.configuration.plugin_sets import EnabledPlugins, resolve_plugins
from steersman.scheduler.pod_info import DEFAULT_SCHEDULER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from steersman.scheduler.configuration.extenders import ExtenderSettings

BACKOFF_INITIAL_SECONDS: Final = 1.0
BACKOFF_MAX_SECONDS: Final = 10.0
UNSCHEDULABLE_MAX_SECONDS: Final = 300.0


class ProfileSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of one profile."""

    scheduler_name: str = DEFAULT_SCHEDULER
    #: Percentage of nodes to find feasible before scoring; 0: adaptive, smaller in larger clusters.
    percentage_of_nodes_to_score: int = 0
    plugins: EnabledPlugins = msgspec.field(default_factory=lambda: resolve_plugins(None))
    #: Arguments by plugin with their defaults, as in ``pluginConfig``.
    args: Mapping[str, Any] = msgspec.field(default_factory=default_args)


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of all profiles. Leader election and client connection are in ``SchedulerOptions``."""

    profiles: tuple[ProfileSettings, ...] = (ProfileSettings(),)
    #: In the order of the configuration.
    extenders: tuple[ExtenderSettings, ...] = ()
    #: Classes of the out-of-tree plugins that the profiles may enable, by name.
    plugins: Mapping[str, Any] = msgspec.field(default_factory=dict)
    pod_initial_backoff_seconds: float = BACKOFF_INITIAL_SECONDS
    pod_max_backoff_seconds: float = BACKOFF_MAX_SECONDS
    #: Maximum time in the unschedulable queue; set by a flag only.
    pod_max_in_unschedulable_pods_seconds: float = UNSCHEDULABLE_MAX_SECONDS
