"""How the scheduler's process elects and serves; named as kube-scheduler's flags."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 — read by msgspec at run time
from typing import Any, NamedTuple

import msgspec

from steersman.scheduler.configuration.settings import UNSCHEDULABLE_MAX_SECONDS, ProfileSettings, Settings
from steersman.scheduler.pod_info import DEFAULT_SCHEDULER


class SchedulerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """All options of ``steersman scheduler``."""

    #: A ``KubeSchedulerConfiguration``; what it says of profiles replaces ``scheduler_name`` and the percentage.
    config: Path | None = None
    #: How to reach the cluster; None: ``$KUBECONFIG``, the pod's service account, ``~/.kube/config``.
    kubeconfig: Path | None = None
    #: Address of the API server, in place of that of the kubeconfig.
    master: str = ""
    #: Requests a second, 0 for no limit, and how many may come at once.
    kube_api_qps: float = 0.0
    kube_api_burst: int = 100
    #: The ``spec.schedulerName`` of the pods that it schedules.
    scheduler_name: str = DEFAULT_SCHEDULER
    #: How many hundredths of the nodes are compared for a pod; 0: fewer the larger the cluster.
    percentage_of_nodes_to_score: int = 0
    #: So long a pod that found no node waits for something to happen before it is tried again anyhow.
    pod_max_in_unschedulable_pods_duration_seconds: float = UNSCHEDULABLE_MAX_SECONDS

    leader_elect: bool = True
    leader_elect_lease_duration_seconds: float = 15.0
    leader_elect_renew_deadline_seconds: float = 10.0
    leader_elect_retry_period_seconds: float = 2.0
    leader_elect_resource_lock: str = "leases"
    leader_elect_resource_name: str = "kube-scheduler"
    leader_elect_resource_namespace: str = "kube-system"
    #: True: a process that has lost its lease contends again; False: it ends, as upstream's.
    leader_elect_restart: bool = False

    #: Where ``/healthz`` and ``/metrics`` are served, in plain HTTP and for anybody who reaches it.
    address: str = "127.0.0.1"
    #: 0: nowhere.
    port: int = 10251


class Setup(NamedTuple):
    """What flags and the configuration file come to together."""

    options: SchedulerOptions
    settings: Settings


def set_up(**given: Any) -> Setup:
    """From the options that were given. What a flag says of election and connection wins over the file, as upstream.

    Raises ``ConfigurationError``.
    """
    options = SchedulerOptions(**given)
    profile = ProfileSettings(
        scheduler_name=options.scheduler_name, percentage_of_nodes_to_score=options.percentage_of_nodes_to_score
    )
    settings = Settings(profiles=(profile,))
    if options.config is not None:
        from steersman.scheduler.configuration.reading import read  # noqa: PLC0415 — most processes read none

        reading = read(options.config)
        options, settings = SchedulerOptions(**{**reading.options, **given}), reading.settings
    seconds = options.pod_max_in_unschedulable_pods_duration_seconds
    return Setup(options, msgspec.structs.replace(settings, pod_max_in_unschedulable_pods_seconds=seconds))
