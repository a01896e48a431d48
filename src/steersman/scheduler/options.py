"""Options of the scheduler process, named as kube-scheduler's flags."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 — read by msgspec at run time
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from steersman.scheduler.configuration.settings import UNSCHEDULABLE_MAX_SECONDS, ProfileSettings, Settings
from steersman.scheduler.pod_info import DEFAULT_SCHEDULER

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree


class SchedulerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of ``steersman scheduler``."""

    #: Path of a ``KubeSchedulerConfiguration``; its profiles replace ``scheduler_name`` and the percentage.
    config: Path | None = None
    #: None: ``$KUBECONFIG``, the pod's service account, ``~/.kube/config``.
    kubeconfig: Path | None = None
    #: Overrides the server address of the kubeconfig.
    master: str = ""
    #: Client-side rate limit in requests per second (0: none) and burst.
    kube_api_qps: float = 0.0
    kube_api_burst: int = 100
    #: ``spec.schedulerName`` of the pods to schedule.
    scheduler_name: str = DEFAULT_SCHEDULER
    #: Percentage of nodes to find feasible before scoring; 0: adaptive, smaller in larger clusters.
    percentage_of_nodes_to_score: int = 0
    #: Maximum time in the unschedulable queue before a retry without an event.
    pod_max_in_unschedulable_pods_duration_seconds: float = UNSCHEDULABLE_MAX_SECONDS

    leader_elect: bool = True
    leader_elect_lease_duration_seconds: float = 15.0
    leader_elect_renew_deadline_seconds: float = 10.0
    leader_elect_retry_period_seconds: float = 2.0
    leader_elect_resource_lock: str = "leases"
    leader_elect_resource_name: str = "kube-scheduler"
    leader_elect_resource_namespace: str = "kube-system"
    #: True: contend again after losing the lease; False: exit, as upstream.
    leader_elect_restart: bool = False
    #: Coordinated leader election (KEP-4355), as ``--feature-gates=CoordinatedLeaderElection=true``.
    coordinated_leader_election: bool = False
    #: Values of ``--emulated-version``, for example ``kube=1.35``; reported in the LeaseCandidate.
    emulated_version: tuple[str, ...] = ()

    #: Address of ``/healthz`` and ``/metrics`` in plain HTTP, without authentication.
    address: str = "127.0.0.1"
    #: 0: disabled.
    port: int = 0


class Setup(NamedTuple):
    """Options and settings merged from flags and the configuration file."""

    options: SchedulerOptions
    settings: Settings
    #: The file of ``config`` with its defaults; None without one.
    configuration: Tree | None = None


def set_up(**overrides: Any) -> Setup:
    """Merge flags with the configuration file; flags override its election and connection settings, as upstream.

    Raises ``ConfigurationError``.
    """
    options = SchedulerOptions(**overrides)
    profile = ProfileSettings(
        scheduler_name=options.scheduler_name, percentage_of_nodes_to_score=options.percentage_of_nodes_to_score
    )
    settings, configuration = Settings(profiles=(profile,)), None
    if options.config is not None:
        from steersman.scheduler.configuration.loading import read  # noqa: PLC0415 — loaded only with --config

        reading = read(options.config)
        options, settings = SchedulerOptions(**{**reading.options, **overrides}), reading.settings
        configuration = reading.tree
    seconds = options.pod_max_in_unschedulable_pods_duration_seconds
    settings = msgspec.structs.replace(settings, pod_max_in_unschedulable_pods_seconds=seconds)
    return Setup(options, settings, configuration)
