"""How the scheduler's process elects and serves; named as kube-scheduler's flags."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 — read by msgspec at run time

import msgspec

from steersman.scheduler.pod_info import DEFAULT_SCHEDULER


class SchedulerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """All options of ``steersman scheduler``."""

    #: How to reach the cluster; None: ``$KUBECONFIG``, the pod's service account, ``~/.kube/config``.
    kubeconfig: Path | None = None
    #: The ``spec.schedulerName`` of the pods that it schedules.
    scheduler_name: str = DEFAULT_SCHEDULER
    #: How many hundredths of the nodes are compared for a pod; 0: fewer the larger the cluster.
    percentage_of_nodes_to_score: int = 0

    leader_elect: bool = True
    leader_elect_lease_duration_seconds: float = 15.0
    leader_elect_renew_deadline_seconds: float = 10.0
    leader_elect_retry_period_seconds: float = 2.0
    leader_elect_resource_name: str = "kube-scheduler"
    leader_elect_resource_namespace: str = "kube-system"

    #: Where ``/healthz`` and ``/metrics`` are served, in plain HTTP and for anybody who reaches it.
    address: str = "127.0.0.1"
    #: 0: nowhere.
    port: int = 10251
