"""Metrics of kube-controller-manager and kube-scheduler 1.36, as running ones expose them, and those that Steersman lacks.

Names and labels without the metrics of Go's runtime. ``docs/compatibility.md`` lists the absent ones.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Final

_UPSTREAM: Final = {
    "kube-controller-manager": """
        aggregator_discovery_aggregation_count_total
        aggregator_discovery_nopeer_requests_total
        aggregator_discovery_peer_aggregated_cache_hits_total
        aggregator_discovery_peer_aggregated_cache_misses_total
        apiextensions_apiserver_validation_ratcheting_seconds
        apiserver_audit_event_total
        apiserver_audit_requests_rejected_total
        apiserver_cel_compilation_duration_seconds
        apiserver_cel_evaluation_duration_seconds
        apiserver_client_certificate_expiration_seconds
        apiserver_delegated_authn_request_duration_seconds code
        apiserver_delegated_authn_request_total code
        apiserver_envelope_encryption_dek_cache_fill_percent
        apiserver_kube_aggregator_x509_insecure_sha1_total
        apiserver_kube_aggregator_x509_missing_san_total
        apiserver_storage_data_key_generation_duration_seconds
        apiserver_storage_data_key_generation_failures_total
        apiserver_storage_envelope_transformation_cache_misses_total
        apiserver_validation_declarative_validation_mismatch_total
        apiserver_validation_declarative_validation_panic_total
        apiserver_validation_duplicate_validation_error_total
        apiserver_webhooks_x509_insecure_sha1_total
        apiserver_webhooks_x509_missing_san_total
        authenticated_user_requests username
        authentication_attempts result
        authentication_duration_seconds result
        authentication_token_cache_active_fetch_count status
        authentication_token_cache_fetch_total status
        authentication_token_cache_request_duration_seconds status
        authentication_token_cache_request_total status
        authorization_attempts_total result
        authorization_duration_seconds result
        cardinality_enforcement_unexpected_categorizations_total
        cronjob_controller_job_creation_skew_duration_seconds
        device_taint_eviction_controller_pod_deletion_duration_seconds
        device_taint_eviction_controller_pod_deletions_total
        disabled_metrics_total
        endpoint_slice_controller_syncs result
        endpoint_slice_mirroring_controller_endpoints_sync_duration
        ephemeral_volume_controller_create_failures_total
        ephemeral_volume_controller_create_total
        garbagecollector_controller_resources_sync_error_total
        hidden_metrics_total
        horizontal_pod_autoscaler_controller_num_horizontal_pod_autoscalers
        informer_processing_latency_seconds group,name,resource,version
        informer_queued_items group,name,resource,version
        job_controller_job_finished_indexes_total backoffLimit,status
        job_controller_job_pods_creation_total reason,status
        job_controller_job_pods_finished_total completion_mode,result
        job_controller_job_sync_duration_seconds action,completion_mode,result
        job_controller_job_syncs_total action,completion_mode,result
        job_controller_jobs_finished_total completion_mode,reason,result
        job_controller_pod_failures_handled_by_failure_policy_total action
        job_controller_terminated_pods_tracking_finalizer_total event
        kubernetes_feature_enabled name,stage
        node_collector_update_all_nodes_health_duration_seconds
        node_collector_update_node_health_duration_seconds
        pod_gc_collector_force_delete_pods_total namespace,reason
        registered_metrics_total deprecated_version,stability_level
        replicaset_controller_sorting_deletion_age_ratio
        rest_client_exec_plugin_certificate_rotation_age
        rest_client_exec_plugin_ttl_seconds
        rest_client_rate_limiter_duration_seconds host,verb
        rest_client_request_duration_seconds host,verb
        rest_client_request_size_bytes host,verb
        rest_client_requests_total code,host,method
        rest_client_response_size_bytes host,verb
        rest_client_transport_cache_entries
        rest_client_transport_cert_rotation_gc_calls_total
        rest_client_transport_create_calls_total result
        retroactive_storageclass_errors_total
        retroactive_storageclass_total
        root_ca_cert_publisher_sync_duration_seconds code
        root_ca_cert_publisher_sync_total code
        taint_eviction_controller_pod_deletion_duration_seconds
        taint_eviction_controller_pod_deletions_total
        ttl_after_finished_controller_job_deletion_duration_seconds
        version_info binary,component,emulation,min_compat
        workqueue_adds_total name
        workqueue_depth name
        workqueue_longest_running_processor_seconds name
        workqueue_queue_duration_seconds name
        workqueue_retries_total name
        workqueue_unfinished_work_seconds name
        workqueue_work_duration_seconds name
    """,
    "kube-scheduler": """
        aggregator_discovery_aggregation_count_total
        aggregator_discovery_nopeer_requests_total
        aggregator_discovery_peer_aggregated_cache_hits_total
        aggregator_discovery_peer_aggregated_cache_misses_total
        apiserver_audit_event_total
        apiserver_audit_requests_rejected_total
        apiserver_client_certificate_expiration_seconds
        apiserver_delegated_authn_request_duration_seconds code
        apiserver_delegated_authn_request_total code
        apiserver_envelope_encryption_dek_cache_fill_percent
        apiserver_storage_data_key_generation_duration_seconds
        apiserver_storage_data_key_generation_failures_total
        apiserver_storage_envelope_transformation_cache_misses_total
        apiserver_validation_declarative_validation_mismatch_total
        apiserver_validation_declarative_validation_panic_total
        apiserver_validation_duplicate_validation_error_total
        apiserver_webhooks_x509_insecure_sha1_total
        apiserver_webhooks_x509_missing_san_total
        authenticated_user_requests username
        authentication_attempts result
        authentication_duration_seconds result
        authentication_token_cache_active_fetch_count status
        authentication_token_cache_fetch_total status
        authentication_token_cache_request_duration_seconds status
        authentication_token_cache_request_total status
        authorization_attempts_total result
        authorization_duration_seconds result
        cardinality_enforcement_unexpected_categorizations_total
        disabled_metrics_total
        hidden_metrics_total
        kubernetes_feature_enabled name,stage
        registered_metrics_total deprecated_version,stability_level
        rest_client_exec_plugin_certificate_rotation_age
        rest_client_exec_plugin_ttl_seconds
        rest_client_rate_limiter_duration_seconds host,verb
        rest_client_request_duration_seconds host,verb
        rest_client_request_size_bytes host,verb
        rest_client_requests_total code,host,method
        rest_client_response_size_bytes host,verb
        rest_client_transport_cache_entries
        rest_client_transport_cert_rotation_gc_calls_total
        rest_client_transport_create_calls_total result
        scheduler_cache_size type
        scheduler_event_handling_duration_seconds event
        scheduler_framework_extension_point_duration_seconds extension_point,profile,status
        scheduler_inflight_events event
        scheduler_pending_pods queue
        scheduler_plugin_evaluation_total extension_point,plugin,profile
        scheduler_plugin_execution_duration_seconds extension_point,plugin,status
        scheduler_pod_scheduled_after_flush_total
        scheduler_pod_scheduling_attempts
        scheduler_preemption_attempts_total
        scheduler_preemption_victims
        scheduler_queue_incoming_pods_total event,queue
        scheduler_schedule_attempts_total profile,result
        scheduler_scheduling_algorithm_duration_seconds
        scheduler_scheduling_attempt_duration_seconds profile,result
        version_info binary,component,emulation,min_compat
        workqueue_adds_total name
        workqueue_depth name
        workqueue_longest_running_processor_seconds name
        workqueue_queue_duration_seconds name
        workqueue_retries_total name
        workqueue_unfinished_work_seconds name
        workqueue_work_duration_seconds name
    """,
}
#: Component to metric to its labels, without those of buckets and quantiles.
UPSTREAM: Final = {
    component: {
        name: frozenset(filter(None, labels.split(",")))
        for name, _, labels in (line.strip().partition(" ") for line in text.strip().splitlines())
    }
    for component, text in _UPSTREAM.items()
}
#: Metrics of upstream that no component of ours has, by component.
ABSENT: Final = {
    "kube-controller-manager": frozenset(
        [
            "aggregator_discovery_aggregation_count_total",
            "aggregator_discovery_nopeer_requests_total",
            "aggregator_discovery_peer_aggregated_cache_hits_total",
            "aggregator_discovery_peer_aggregated_cache_misses_total",
            "apiextensions_apiserver_validation_ratcheting_seconds",
            "apiserver_audit_event_total",
            "apiserver_audit_requests_rejected_total",
            "apiserver_cel_compilation_duration_seconds",
            "apiserver_cel_evaluation_duration_seconds",
            "apiserver_client_certificate_expiration_seconds",
            "apiserver_envelope_encryption_dek_cache_fill_percent",
            "apiserver_kube_aggregator_x509_insecure_sha1_total",
            "apiserver_kube_aggregator_x509_missing_san_total",
            "apiserver_storage_data_key_generation_duration_seconds",
            "apiserver_storage_data_key_generation_failures_total",
            "apiserver_storage_envelope_transformation_cache_misses_total",
            "apiserver_validation_declarative_validation_mismatch_total",
            "apiserver_validation_declarative_validation_panic_total",
            "apiserver_validation_duplicate_validation_error_total",
            "apiserver_webhooks_x509_insecure_sha1_total",
            "apiserver_webhooks_x509_missing_san_total",
            "authentication_token_cache_active_fetch_count",
            "authentication_token_cache_fetch_total",
            "authentication_token_cache_request_duration_seconds",
            "cardinality_enforcement_unexpected_categorizations_total",
            "disabled_metrics_total",
            "endpoint_slice_controller_syncs",
            "endpoint_slice_mirroring_controller_endpoints_sync_duration",
            "garbagecollector_controller_resources_sync_error_total",
            "hidden_metrics_total",
            "informer_processing_latency_seconds",
            "informer_queued_items",
            "job_controller_job_finished_indexes_total",
            "job_controller_job_pods_creation_total",
            "job_controller_job_pods_finished_total",
            "job_controller_job_sync_duration_seconds",
            "job_controller_job_syncs_total",
            "job_controller_pod_failures_handled_by_failure_policy_total",
            "job_controller_terminated_pods_tracking_finalizer_total",
            "node_collector_update_all_nodes_health_duration_seconds",
            "node_collector_update_node_health_duration_seconds",
            "registered_metrics_total",
            "replicaset_controller_sorting_deletion_age_ratio",
            "rest_client_exec_plugin_certificate_rotation_age",
            "rest_client_exec_plugin_ttl_seconds",
            "rest_client_request_size_bytes",
            "rest_client_response_size_bytes",
            "rest_client_transport_cache_entries",
            "rest_client_transport_cert_rotation_gc_calls_total",
            "rest_client_transport_create_calls_total",
            "retroactive_storageclass_errors_total",
            "retroactive_storageclass_total",
        ]
    ),
    "kube-scheduler": frozenset(
        [
            "aggregator_discovery_aggregation_count_total",
            "aggregator_discovery_nopeer_requests_total",
            "aggregator_discovery_peer_aggregated_cache_hits_total",
            "aggregator_discovery_peer_aggregated_cache_misses_total",
            "apiserver_audit_event_total",
            "apiserver_audit_requests_rejected_total",
            "apiserver_client_certificate_expiration_seconds",
            "apiserver_envelope_encryption_dek_cache_fill_percent",
            "apiserver_storage_data_key_generation_duration_seconds",
            "apiserver_storage_data_key_generation_failures_total",
            "apiserver_storage_envelope_transformation_cache_misses_total",
            "apiserver_validation_declarative_validation_mismatch_total",
            "apiserver_validation_declarative_validation_panic_total",
            "apiserver_validation_duplicate_validation_error_total",
            "apiserver_webhooks_x509_insecure_sha1_total",
            "apiserver_webhooks_x509_missing_san_total",
            "authentication_token_cache_active_fetch_count",
            "authentication_token_cache_fetch_total",
            "authentication_token_cache_request_duration_seconds",
            "cardinality_enforcement_unexpected_categorizations_total",
            "disabled_metrics_total",
            "hidden_metrics_total",
            "registered_metrics_total",
            "rest_client_exec_plugin_certificate_rotation_age",
            "rest_client_exec_plugin_ttl_seconds",
            "rest_client_request_size_bytes",
            "rest_client_response_size_bytes",
            "rest_client_transport_cache_entries",
            "rest_client_transport_cert_rotation_gc_calls_total",
            "rest_client_transport_create_calls_total",
            "scheduler_cache_size",
            "scheduler_event_handling_duration_seconds",
            "scheduler_framework_extension_point_duration_seconds",
            "scheduler_inflight_events",
            "scheduler_plugin_evaluation_total",
            "scheduler_plugin_execution_duration_seconds",
            "scheduler_pod_scheduled_after_flush_total",
            "scheduler_queue_incoming_pods_total",
            "scheduler_scheduling_algorithm_duration_seconds",
        ]
    ),
}
_PARTS: Final = ("_bucket", "_sum", "_count")


def exposed(text: str) -> dict[str, frozenset[str]]:
    """Return the metrics of an exposition in the Prometheus text format with their labels; none without samples."""
    types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    labels: dict[str, set[str]] = defaultdict(set)
    for name, pairs in re.findall(r"^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? ", text, re.MULTILINE):
        family = next((name.removesuffix(part) for part in _PARTS if name.removesuffix(part) in types), name)
        labels[family] |= set(re.findall(r'(\w+)="', pairs)) - {"le"}
    return {name: frozenset(labels[name]) for name in types}
