"""Stability levels of upstream's metrics, with which their help texts begin (``[STABLE] …``).

Upstream: staging/src/k8s.io/component-base/metrics/opts.go (``StabilityLevel``), and the reference of metrics of release 1.36.
"""

from __future__ import annotations

from typing import Final

_STABLE: Final = frozenset(
    [
        "apiserver_admission_controller_admission_duration_seconds",
        "apiserver_admission_step_admission_duration_seconds",
        "apiserver_admission_webhook_admission_duration_seconds",
        "apiserver_current_inflight_requests",
        "apiserver_longrunning_requests",
        "apiserver_request_duration_seconds",
        "apiserver_request_total",
        "apiserver_requested_deprecated_apis",
        "apiserver_response_sizes",
        "apiserver_storage_objects",
        "apiserver_storage_size_bytes",
        "container_cpu_usage_seconds_total",
        "container_memory_working_set_bytes",
        "container_start_time_seconds",
        "cronjob_controller_job_creation_skew_duration_seconds",
        "job_controller_job_pods_finished_total",
        "job_controller_job_sync_duration_seconds",
        "job_controller_job_syncs_total",
        "job_controller_jobs_finished_total",
        "kube_pod_resource_limit",
        "kube_pod_resource_request",
        "kubernetes_healthcheck",
        "kubernetes_healthchecks_total",
        "node_collector_evictions_total",
        "node_cpu_usage_seconds_total",
        "node_memory_working_set_bytes",
        "pod_cpu_usage_seconds_total",
        "pod_memory_working_set_bytes",
        "resource_scrape_error",
        "scheduler_framework_extension_point_duration_seconds",
        "scheduler_pending_pods",
        "scheduler_pod_scheduling_attempts",
        "scheduler_preemption_attempts_total",
        "scheduler_preemption_victims",
        "scheduler_queue_incoming_pods_total",
        "scheduler_schedule_attempts_total",
        "scheduler_scheduling_attempt_duration_seconds",
    ]
)
_BETA: Final = frozenset(
    [
        "apiserver_authentication_config_controller_automatic_reload_last_timestamp_seconds",
        "apiserver_authentication_config_controller_automatic_reloads_total",
        "apiserver_authorization_config_controller_automatic_reload_last_timestamp_seconds",
        "apiserver_authorization_config_controller_automatic_reloads_total",
        "apiserver_cel_compilation_duration_seconds",
        "apiserver_cel_evaluation_duration_seconds",
        "apiserver_flowcontrol_current_executing_requests",
        "apiserver_flowcontrol_current_executing_seats",
        "apiserver_flowcontrol_current_inqueue_requests",
        "apiserver_flowcontrol_dispatched_requests_total",
        "apiserver_flowcontrol_nominal_limit_seats",
        "apiserver_flowcontrol_rejected_requests_total",
        "apiserver_flowcontrol_request_wait_duration_seconds",
        "apiserver_storage_events_received_total",
        "apiserver_validating_admission_policy_check_duration_seconds",
        "apiserver_validating_admission_policy_check_total",
        "apiserver_watch_list_duration_seconds",
        "disabled_metrics_total",
        "hidden_metrics_total",
        "kubernetes_build_info",
        "kubernetes_feature_enabled",
        "prober_probe_total",
        "registered_metrics_total",
        "running_managed_controllers",
        "scheduler_pod_scheduling_sli_duration_seconds",
        "workqueue_adds_total",
        "workqueue_depth",
        "workqueue_longest_running_processor_seconds",
        "workqueue_queue_duration_seconds",
        "workqueue_retries_total",
        "workqueue_unfinished_work_seconds",
        "workqueue_work_duration_seconds",
    ]
)
#: Beginnings of the names of upstream's other metrics. Those of programs that use the toolkit have no level.
_ALPHA_PREFIXES: Final = (
    "aggregator_",
    "apiextensions_",
    "apiserver_",
    "authenticated_user_requests",
    "authentication_",
    "authorization_",
    "cronjob_controller_",
    "device_taint_eviction_controller_",
    "endpoint_slice_controller_",
    "endpoint_slice_mirroring_controller_",
    "ephemeral_volume_controller_",
    "etcd_",
    "field_validation_",
    "garbagecollector_controller_",
    "horizontal_pod_autoscaler_controller_",
    "informer_",
    "job_controller_",
    "kube_apiserver_",
    "kubelet_",
    "leader_election_",
    "node_collector_",
    "pod_gc_collector_",
    "pod_security_",
    "replicaset_controller_",
    "rest_client_",
    "root_ca_cert_publisher_",
    "scheduler_",
    "serviceaccount_",
    "taint_eviction_controller_",
    "ttl_after_finished_controller_",
    "version_info",
    "watch_cache_",
)


def with_level(name: str, text: str) -> str:
    """Return the help text of a metric with its stability level; without one if the metric is not upstream's."""
    if name in _STABLE:
        return f"[STABLE] {text}"
    if name in _BETA:
        return f"[BETA] {text}"
    return f"[ALPHA] {text}" if name.startswith(_ALPHA_PREFIXES) else text
