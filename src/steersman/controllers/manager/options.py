"""Options of the manager: leader election, identity, serving; named as kube-controller-manager's flags."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 — read by msgspec at run time

from steersman.controllers.options import ControllerOptions


class ManagerOptions(ControllerOptions, frozen=True, kw_only=True):
    """Options of ``steersman controller-manager``."""

    #: Kubeconfig; None for ``$KUBECONFIG``, the pod's service account or ``~/.kube/config``.
    kubeconfig: Path | None = None
    #: Address of the API server; overrides the kubeconfig.
    master: str = ""
    #: Each controller acts as its own service account in ``kube-system``.
    use_service_account_credentials: bool = False
    #: QPS and burst of each client; 0 for no limit, because servers have API Priority and Fairness.
    kube_api_qps: float = 0.0
    kube_api_burst: int = 30

    leader_elect: bool = True
    leader_elect_lease_duration_seconds: float = 15.0
    leader_elect_renew_deadline_seconds: float = 10.0
    leader_elect_retry_period_seconds: float = 2.0
    leader_elect_resource_lock: str = "leases"
    leader_elect_resource_name: str = "kube-controller-manager"
    leader_elect_resource_namespace: str = "kube-system"
    #: Run the controllers that the configuration assigns to this component under the lock of a migration.
    enable_leader_migration: bool = False
    #: File with a ``LeaderMigrationConfiguration``; empty: the default one.
    leader_migration_config: str = ""
    #: True if a process contends again after losing its lease; False if it exits, as upstream.
    leader_elect_restart: bool = False
    #: Name of this process in elections; empty for the host name with a random suffix. A process that restarts under the same
    #: name need not wait for its lease to expire.
    leader_elect_identity: str = ""
    #: Use coordinated leader election (KEP-4355) if the API server supports it.
    coordinated_leader_election: bool = False
    #: ``--emulated-version``, e.g. ``kube=1.35``, for the LeaseCandidate.
    emulated_version: tuple[str, ...] = ()

    #: Address of ``/healthz`` and ``/metrics`` in plain HTTP, without authentication.
    address: str = "127.0.0.1"
    #: Port; 0 disables plain HTTP.
    port: int = 0
    #: Grace period of running reconciles.
    controller_shutdown_timeout_seconds: float = 10.0
