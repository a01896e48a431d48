"""Metrics of kube-apiserver, kube-controller-manager and kube-scheduler 1.36, as running ones expose them, and those that
Steersman lacks.

Names and labels without the metrics of Go's runtime. ``docs/compatibility.md`` lists the absent ones.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Final

_UPSTREAM: Final = {
    "kube-apiserver": """
        aggregator_discovery_aggregation_count_total
        aggregator_discovery_nopeer_requests_total
        aggregator_discovery_peer_aggregated_cache_hits_total
        aggregator_discovery_peer_aggregated_cache_misses_total
        aggregator_unavailable_apiservice name
        apiextensions_apiserver_validation_ratcheting_seconds
        apiserver_admission_controller_admission_duration_seconds name,operation,rejected,type
        apiserver_admission_step_admission_duration_seconds operation,rejected,type
        apiserver_admission_step_admission_duration_seconds_summary operation,rejected,type
        apiserver_audit_event_total
        apiserver_audit_requests_rejected_total
        apiserver_authorization_decisions_total decision,name,type
        apiserver_cache_list_fetched_objects_total group,index,resource
        apiserver_cache_list_returned_objects_total group,resource
        apiserver_cache_list_total group,index,resource
        apiserver_cel_compilation_duration_seconds
        apiserver_cel_evaluation_duration_seconds
        apiserver_client_certificate_expiration_seconds
        apiserver_current_inflight_requests request_kind
        apiserver_current_inqueue_requests request_kind
        apiserver_envelope_encryption_dek_cache_fill_percent
        apiserver_flowcontrol_current_executing_requests flow_schema,priority_level
        apiserver_flowcontrol_current_executing_seats flow_schema,priority_level
        apiserver_flowcontrol_current_inqueue_requests flow_schema,priority_level
        apiserver_flowcontrol_current_inqueue_seats flow_schema,priority_level
        apiserver_flowcontrol_current_limit_seats priority_level
        apiserver_flowcontrol_current_r priority_level
        apiserver_flowcontrol_demand_seats priority_level
        apiserver_flowcontrol_demand_seats_average priority_level
        apiserver_flowcontrol_demand_seats_high_watermark priority_level
        apiserver_flowcontrol_demand_seats_smoothed priority_level
        apiserver_flowcontrol_demand_seats_stdev priority_level
        apiserver_flowcontrol_dispatch_r priority_level
        apiserver_flowcontrol_dispatched_requests_total flow_schema,priority_level
        apiserver_flowcontrol_latest_s priority_level
        apiserver_flowcontrol_lower_limit_seats priority_level
        apiserver_flowcontrol_next_discounted_s_bounds bound,priority_level
        apiserver_flowcontrol_next_s_bounds bound,priority_level
        apiserver_flowcontrol_nominal_limit_seats priority_level
        apiserver_flowcontrol_priority_level_request_utilization phase,priority_level
        apiserver_flowcontrol_priority_level_seat_utilization phase,priority_level
        apiserver_flowcontrol_read_vs_write_current_requests phase,request_kind
        apiserver_flowcontrol_request_execution_seconds flow_schema,priority_level,type
        apiserver_flowcontrol_request_queue_length_after_enqueue flow_schema,priority_level
        apiserver_flowcontrol_request_wait_duration_seconds execute,flow_schema,priority_level
        apiserver_flowcontrol_seat_fair_frac
        apiserver_flowcontrol_target_seats priority_level
        apiserver_flowcontrol_upper_limit_seats priority_level
        apiserver_flowcontrol_watch_count_samples flow_schema,priority_level
        apiserver_flowcontrol_work_estimated_seats flow_schema,priority_level
        apiserver_impersonation_attempts_duration_seconds decision,mode
        apiserver_impersonation_attempts_total decision,mode
        apiserver_impersonation_authorization_attempts_duration_seconds decision,mode
        apiserver_impersonation_authorization_attempts_total decision,mode
        apiserver_init_events_total group,resource
        apiserver_kube_aggregator_x509_insecure_sha1_total
        apiserver_kube_aggregator_x509_missing_san_total
        apiserver_longrunning_requests component,group,resource,scope,subresource,verb,version
        apiserver_nodeport_repair_reconcile_errors_total
        apiserver_request_body_size_bytes group,resource,verb
        apiserver_request_duration_seconds component,dry_run,group,resource,scope,subresource,verb,version
        apiserver_request_filter_duration_seconds filter
        apiserver_request_sli_duration_seconds component,group,resource,scope,subresource,verb,version
        apiserver_request_timestamp_comparison_time code_path
        apiserver_request_total code,component,dry_run,group,resource,scope,subresource,system_client,verb,version
        apiserver_requested_deprecated_apis group,removed_release,resource,subresource,version
        apiserver_resource_objects group,resource
        apiserver_resource_size_estimate_bytes group,resource
        apiserver_response_sizes component,group,resource,scope,subresource,verb,version
        apiserver_selfrequest_total group,resource,subresource,verb
        apiserver_storage_consistency_checks_total group,resource,status
        apiserver_storage_data_key_generation_duration_seconds
        apiserver_storage_data_key_generation_failures_total
        apiserver_storage_envelope_transformation_cache_misses_total
        apiserver_storage_events_received_total group,resource
        apiserver_storage_list_evaluated_objects_total group,resource
        apiserver_storage_list_fetched_objects_total group,resource
        apiserver_storage_list_returned_objects_total group,resource
        apiserver_storage_list_total group,resource
        apiserver_storage_objects resource
        apiserver_storage_size_bytes storage_cluster_id
        apiserver_tls_handshake_errors_total
        apiserver_validation_declarative_validation_mismatch_total
        apiserver_validation_declarative_validation_panic_total
        apiserver_validation_duplicate_validation_error_total
        apiserver_watch_cache_consistent_read_total fallback,group,resource,success
        apiserver_watch_cache_events_dispatched_total group,resource
        apiserver_watch_cache_events_received_total group,resource
        apiserver_watch_cache_initializations_total group,resource
        apiserver_watch_cache_read_wait_seconds group,resource
        apiserver_watch_cache_resource_version group,resource
        apiserver_watch_events_sizes group,resource,version
        apiserver_watch_events_total group,resource,version
        apiserver_watch_list_duration_seconds group,resource,scope,version
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
        field_validation_request_duration_seconds field_validation
        hidden_metrics_total
        kube_apiserver_clusterip_allocator_allocated_ips cidr
        kube_apiserver_clusterip_allocator_allocation_duration_seconds cidr
        kube_apiserver_clusterip_allocator_allocation_total cidr,scope
        kube_apiserver_clusterip_allocator_available_ips cidr
        kube_apiserver_nodeport_allocator_allocated_ports
        kube_apiserver_nodeport_allocator_available_ports
        kubernetes_feature_enabled name,stage
        leader_election_master_status name
        pod_security_evaluations_total decision,mode,ocp_namespace,policy_level,policy_version,request_operation,resource,subresource
        pod_security_exemptions_total request_operation,resource,subresource
        registered_metrics_total deprecated_version,stability_level
        rest_client_exec_plugin_certificate_rotation_age
        rest_client_exec_plugin_ttl_seconds
        rest_client_request_duration_seconds host,verb
        rest_client_request_size_bytes host,verb
        rest_client_requests_total code,host,method
        rest_client_response_size_bytes host,verb
        rest_client_transport_cache_entries
        rest_client_transport_cert_rotation_gc_calls_total
        rest_client_transport_create_calls_total result
        serviceaccount_invalid_legacy_auto_token_uses_total
        serviceaccount_legacy_auto_token_uses_total
        serviceaccount_legacy_manual_token_uses_total
        serviceaccount_legacy_tokens_total
        serviceaccount_stale_tokens_total
        serviceaccount_valid_tokens_total
        version_info binary,component,emulation,min_compat
        watch_cache_capacity group,resource
        watch_cache_capacity_increase_total group,resource
        workqueue_adds_total name
        workqueue_depth name
        workqueue_longest_running_processor_seconds name
        workqueue_queue_duration_seconds name
        workqueue_retries_total name
        workqueue_unfinished_work_seconds name
        workqueue_work_duration_seconds name
    """,
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
    "kube-apiserver": frozenset(
        [
            "aggregator_discovery_aggregation_count_total",
            "aggregator_discovery_nopeer_requests_total",
            "aggregator_discovery_peer_aggregated_cache_hits_total",
            "aggregator_discovery_peer_aggregated_cache_misses_total",
            "apiextensions_apiserver_validation_ratcheting_seconds",
            "apiserver_admission_step_admission_duration_seconds_summary",
            "apiserver_cel_compilation_duration_seconds",
            "apiserver_cel_evaluation_duration_seconds",
            "apiserver_envelope_encryption_dek_cache_fill_percent",
            "apiserver_flowcontrol_current_r",
            "apiserver_flowcontrol_demand_seats",
            "apiserver_flowcontrol_dispatch_r",
            "apiserver_flowcontrol_latest_s",
            "apiserver_flowcontrol_next_discounted_s_bounds",
            "apiserver_flowcontrol_next_s_bounds",
            "apiserver_flowcontrol_priority_level_request_utilization",
            "apiserver_flowcontrol_priority_level_seat_utilization",
            "apiserver_flowcontrol_read_vs_write_current_requests",
            "apiserver_flowcontrol_watch_count_samples",
            "apiserver_impersonation_attempts_duration_seconds",
            "apiserver_impersonation_attempts_total",
            "apiserver_impersonation_authorization_attempts_duration_seconds",
            "apiserver_impersonation_authorization_attempts_total",
            "apiserver_kube_aggregator_x509_insecure_sha1_total",
            "apiserver_kube_aggregator_x509_missing_san_total",
            "apiserver_request_filter_duration_seconds",
            "apiserver_request_timestamp_comparison_time",
            "apiserver_storage_consistency_checks_total",
            "apiserver_validation_declarative_validation_mismatch_total",
            "apiserver_validation_declarative_validation_panic_total",
            "apiserver_validation_duplicate_validation_error_total",
            "apiserver_webhooks_x509_insecure_sha1_total",
            "apiserver_webhooks_x509_missing_san_total",
            "authentication_token_cache_active_fetch_count",
            "authentication_token_cache_fetch_total",
            "authentication_token_cache_request_duration_seconds",
            "authentication_token_cache_request_total",
            "cardinality_enforcement_unexpected_categorizations_total",
            "disabled_metrics_total",
            "field_validation_request_duration_seconds",
            "hidden_metrics_total",
            "registered_metrics_total",
            "rest_client_exec_plugin_certificate_rotation_age",
            "rest_client_exec_plugin_ttl_seconds",
            "rest_client_transport_cache_entries",
            "rest_client_transport_cert_rotation_gc_calls_total",
            "rest_client_transport_create_calls_total",
            "watch_cache_capacity",
            "watch_cache_capacity_increase_total",
        ]
    ),
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
            "node_collector_update_all_nodes_health_duration_seconds",
            "node_collector_update_node_health_duration_seconds",
            "registered_metrics_total",
            "replicaset_controller_sorting_deletion_age_ratio",
            "rest_client_exec_plugin_certificate_rotation_age",
            "rest_client_exec_plugin_ttl_seconds",
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
            "rest_client_transport_cache_entries",
            "rest_client_transport_cert_rotation_gc_calls_total",
            "rest_client_transport_create_calls_total",
            "scheduler_event_handling_duration_seconds",
            "scheduler_framework_extension_point_duration_seconds",
            "scheduler_inflight_events",
            "scheduler_plugin_evaluation_total",
            "scheduler_plugin_execution_duration_seconds",
            "scheduler_pod_scheduled_after_flush_total",
        ]
    ),
}
#: Metrics that the API server exposes when it encrypts with KMS plugins or has remote APIServices.
CONDITIONAL: Final = frozenset(
    [
        "aggregator_unavailable_apiservice",
        "apiserver_storage_data_key_generation_duration_seconds",
        "apiserver_storage_data_key_generation_failures_total",
        "apiserver_storage_envelope_transformation_cache_misses_total",
        "pod_security_exemptions_total",
    ]
)
_PARTS: Final = ("_bucket", "_sum", "_count")


def exposed(text: str) -> dict[str, frozenset[str]]:
    """Return the metrics of an exposition in the Prometheus text format with their labels; none without samples."""
    types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    labels: dict[str, set[str]] = defaultdict(set)
    for name, pairs in re.findall(r"^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? ", text, re.MULTILINE):
        family = next((name.removesuffix(part) for part in _PARTS if name.removesuffix(part) in types), name)
        labels[family] |= set(re.findall(r'(\w+)="', pairs)) - {"le"}
    return {name: frozenset(labels[name]) for name in types}
