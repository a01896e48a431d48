"""Scheduler plugins of other packages (upstream: out-of-tree plugins), written in Python.

A plugin is a class whose methods are extension points of the scheduling framework; ``interface`` declares their
protocols. ``registry`` finds the classes, ``adapters`` put their filters and scores into the scheduling cycle,
``runtime`` runs the other extension points. Loaded only if a configuration enables such a plugin.
"""

from steersman.extras import require

require(__name__, "toolkit")

from steersman.scheduler.out_of_tree.interface import (  # noqa: E402 — after the check of the packages
    BindPlugin,
    ClusterEventWithHint,
    Code,
    CycleState,
    EnqueueExtensions,
    FilterPlugin,
    Handle,
    NodeInfo,
    PermitPlugin,
    PluginFactory,
    PodInfo,
    PostBindPlugin,
    PostFilterPlugin,
    PostFilterResult,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    QueuedPodInfo,
    QueueSortPlugin,
    ReservePlugin,
    ScorePlugin,
    Status,
    Wait,
    WaitingPod,
)
from steersman.scheduler.queue import ClusterEvent  # noqa: E402 — as above

__all__ = [
    "BindPlugin",
    "ClusterEvent",
    "ClusterEventWithHint",
    "Code",
    "CycleState",
    "EnqueueExtensions",
    "FilterPlugin",
    "Handle",
    "NodeInfo",
    "PermitPlugin",
    "PluginFactory",
    "PodInfo",
    "PostBindPlugin",
    "PostFilterPlugin",
    "PostFilterResult",
    "PreBindPlugin",
    "PreEnqueuePlugin",
    "PreFilterPlugin",
    "PreFilterResult",
    "PreScorePlugin",
    "QueueSortPlugin",
    "QueuedPodInfo",
    "ReservePlugin",
    "ScorePlugin",
    "Status",
    "Wait",
    "WaitingPod",
]
