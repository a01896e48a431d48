"""Options of the manager: leader election, identity, serving; named as kube-controller-manager's flags."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 — read by msgspec at run time

from steersman.controllers.options import ControllerOptions


class ManagerOptions(ControllerOptions, frozen=True, kw_only=True):
    """Options of ``steersman controller-manager``."""

    #: How to reach the cluster; None: ``$KUBECONFIG``, the pod's service account, ``~/.kube/config``.
    kubeconfig: Path | None = None
    #: Address of the API server, in place of that of the kubeconfig.
    master: str = ""
    #: Each controller acts as its own service account in ``kube-system``.
    use_service_account_credentials: bool = False
    #: QPS and burst of each client; 0: no limit, as servers have their own.
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
    #: True: a process that has lost its lease contends again; False: it ends, as upstream's.
    leader_elect_restart: bool = False
    #: Name of this process in elections; empty: the host's with a random part. One that comes back under its old name
    #: after a crash need not wait for its lease to expire.
    leader_elect_identity: str = ""
    #: Let the API server choose among candidates (KEP-4355), where it offers that.
    coordinated_leader_election: bool = False
    #: ``--emulated-version``, e.g. ``kube=1.35``, for the LeaseCandidate.
    emulated_version: tuple[str, ...] = ()

    #: Address of ``/healthz`` and ``/metrics`` in plain HTTP, without authentication.
    address: str = "127.0.0.1"
    #: 0: no plain HTTP.
    port: int = 0
    #: How long running reconciles may take to end.
    controller_shutdown_timeout_seconds: float = 10.0
