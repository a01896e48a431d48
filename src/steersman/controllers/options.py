"""Options of controllers; fields are named as kube-controller-manager's flags, with its defaults."""

from __future__ import annotations

import msgspec


class ControllerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of the controllers. Those of serving and leader election are in ``manager.options``.

    A controller adds its fields here; the command line derives flags from their names.
    """

    #: Names, ``-names`` and ``*``: see ``registry.is_enabled``.
    controllers: tuple[str, ...] = ("*",)
    #: Resync period of informers; the effective one is random between this and twice this, to spread the load.
    min_resync_period_seconds: float = 12 * 3600.0
    #: Seconds between the starts of two controllers.
    controller_start_interval_seconds: float = 0.0

    #: Resync period of terminating namespaces, in seconds.
    namespace_sync_period_seconds: float = 300.0
    #: Resync period of ResourceQuotas.
    resource_quota_sync_period_seconds: float = 300.0
    #: Resync period of PersistentVolumes and claims, in seconds.
    pvclaimbinder_sync_period_seconds: float = 15.0
    #: Timeout of a recycler pod in seconds: the minimum, and the increment for each GiB of the volume.
    pv_recycler_minimum_timeout_hostpath: int = 60
    pv_recycler_timeout_increment_hostpath: int = 30
    pv_recycler_minimum_timeout_nfs: int = 300
    pv_recycler_increment_timeout_nfs: int = 30
    #: Files with a Pod whose first volume is replaced by the one to recycle; empty: a pod with a shell.
    pv_recycler_pod_template_filepath_hostpath: str = ""
    pv_recycler_pod_template_filepath_nfs: str = ""

    enable_garbage_collector: bool = True
    #: Enable dynamic provisioning.
    enable_dynamic_provisioning: bool = True
    #: PEM file; published to every namespace and in token Secrets. Empty: the client's CA.
    root_ca_file: str = ""
    #: PEM file of the key that signs tokens in Secrets; empty for no tokens.
    service_account_private_key_file: str = ""
    #: Time after which an unused token in a Secret is invalidated, and after which an invalid one is deleted.
    legacy_service_account_token_clean_up_period_seconds: float = 365 * 24 * 3600.0
    #: Terminated pods above this number are deleted; 0 or less disables the deletion.
    terminated_pod_gc_threshold: int = 12500
    #: PEM files of the default CA certificate and key, for all signers without their own below.
    cluster_signing_cert_file: str = ""
    cluster_signing_key_file: str = ""
    cluster_signing_kubelet_serving_cert_file: str = ""
    cluster_signing_kubelet_serving_key_file: str = ""
    cluster_signing_kubelet_client_cert_file: str = ""
    cluster_signing_kubelet_client_key_file: str = ""
    cluster_signing_kube_apiserver_client_cert_file: str = ""
    cluster_signing_kube_apiserver_client_key_file: str = ""
    cluster_signing_legacy_unknown_cert_file: str = ""
    cluster_signing_legacy_unknown_key_file: str = ""
    #: Maximum duration of a signed certificate.
    cluster_signing_duration_seconds: float = 365 * 24 * 3600.0

    #: Grace periods in seconds without heartbeat: of a Node, and of a new Node without any status since its creation.
    node_monitor_grace_period_seconds: float = 50.0
    node_startup_grace_period_seconds: float = 60.0
    #: Eviction rates of a zone in Nodes per second: normal, and of a large, partially disrupted zone.
    node_eviction_rate: float = 0.1
    secondary_node_eviction_rate: float = 0.01
    #: Share of unready Nodes from which a zone is partially disrupted.
    unhealthy_zone_threshold: float = 0.55
    #: Zones up to this size are small: no evictions while they are partially disrupted.
    large_cluster_size_threshold: int = 50

    max_endpoints_per_slice: int = 100
    mirroring_max_endpoints_per_subset: int = 1000
    #: Batch period of pod changes before endpoints are written; 0 for no batching.
    endpoint_updates_batch_period_seconds: float = 0.0
    endpointslice_updates_batch_period_seconds: float = 0.0
    mirroring_endpointslice_updates_batch_period_seconds: float = 0.0

    #: Seconds between syncs of autoscalers.
    horizontal_pod_autoscaler_sync_period_seconds: float = 15.0
    #: Time for which replicas are not scaled down below the highest recommendation.
    horizontal_pod_autoscaler_downscale_stabilization_seconds: float = 300.0
    #: Deviation of the usage ratio from 1 within which nothing is scaled.
    horizontal_pod_autoscaler_tolerance: float = 0.1
    #: Period after a pod's start in which its CPU usage counts only while it is ready …
    horizontal_pod_autoscaler_cpu_initialization_period_seconds: float = 300.0
    #: … and in which a pod that became unready counts as never ready.
    horizontal_pod_autoscaler_initial_readiness_delay_seconds: float = 30.0

    #: Allocate pod CIDRs of Nodes from ``cluster_cidr``: one CIDR, or one per family separated by a comma.
    allocate_node_cidrs: bool = False
    cluster_cidr: str = ""
    #: Service CIDRs, which are excluded from Node CIDRs.
    service_cluster_ip_range: str = ""
    cidr_allocator_type: str = "RangeAllocator"
    #: Prefix lengths of a Node's CIDR; 0 for 24 (IPv4) or 64 (IPv6). The first is for single-family clusters only.
    node_cidr_mask_size: int = 0
    node_cidr_mask_size_ipv4: int = 0
    node_cidr_mask_size_ipv6: int = 0

    #: Disable force-detach of volumes from unready Nodes.
    disable_force_detach_on_timeout: bool = False

    # Numbers of workers.
    concurrent_cron_job_syncs: int = 5
    concurrent_daemonset_syncs: int = 2
    concurrent_deployment_syncs: int = 5
    concurrent_device_taint_eviction_syncs: int = 8
    concurrent_endpoint_syncs: int = 5
    concurrent_ephemeralvolume_syncs: int = 5
    concurrent_gc_syncs: int = 20
    concurrent_horizontal_pod_autoscaler_syncs: int = 5
    concurrent_job_syncs: int = 5
    concurrent_namespace_syncs: int = 10
    concurrent_rc_syncs: int = 5
    concurrent_replicaset_syncs: int = 5
    concurrent_resource_quota_syncs: int = 5
    concurrent_resourceclaim_syncs: int = 50
    concurrent_service_endpoint_syncs: int = 5
    concurrent_serviceaccount_token_syncs: int = 5
    concurrent_statefulset_syncs: int = 5
    concurrent_ttl_after_finished_syncs: int = 5
    concurrent_validating_admission_policy_status_syncs: int = 5
    mirroring_concurrent_service_endpoint_syncs: int = 5
