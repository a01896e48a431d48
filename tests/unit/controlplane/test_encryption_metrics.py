from __future__ import annotations

from steersman.asynckit.clock import FakeClock
from steersman.controlplane.encryption_metrics import families_of
from steersman.storage.encryption.kms import key_id_hash
from steersman.storage.encryption.metrics import FROM_STORAGE, TO_STORAGE, EncryptionMetrics


def samples_of(metrics):
    """Return the samples by name, suffix and sorted labels; of histograms only the counts."""
    return {
        (family.name, *sorted(labels)): value
        for family in families_of(metrics, server_id="apiserver-x")
        for suffix, labels, value in family.samples
        if suffix in ("", "_count")
    }


def test_transformations_have_the_labels_of_upstream():
    metrics, prefix = EncryptionMetrics(FakeClock()), "k8s:enc:kms:v2:vault:"
    metrics.transformed("secrets", FROM_STORAGE, prefix, metrics.now())
    metrics.transformed("secrets", TO_STORAGE, prefix, metrics.now(), "Unavailable")
    samples = samples_of(metrics)
    labels = ("resource", "secrets"), ("transformation_type", "from_storage"), ("transformer_prefix", prefix)
    name = "apiserver_storage_transformation_operations_total"
    assert samples[name, labels[0], ("status", "OK"), *labels[1:]] == 1
    assert samples[name, labels[0], ("status", "Unavailable"), ("transformation_type", "to_storage"), labels[2]] == 1
    assert samples["apiserver_storage_transformation_duration_seconds", *labels] == 1


def test_plugins_have_hashes_in_place_of_key_ids():
    clock = FakeClock()
    metrics = EncryptionMetrics(clock)
    metrics.key_used(FROM_STORAGE, "vault", "1")
    metrics.key_reported("vault", "1")
    metrics.invalid_key_reported("vault", "empty")
    metrics.operated("vault", "/v2.KeyManagementService/Decrypt", metrics.now())
    samples, prefix = samples_of(metrics), "apiserver_envelope_encryption"
    key = (
        ("apiserver_id_hash", key_id_hash("apiserver-x")),
        ("key_id_hash", key_id_hash("1")),
        ("provider_name", "vault"),
    )
    use = *key, ("transformation_type", "from_storage")
    assert samples[f"{prefix}_key_id_hash_total", *use] == 1
    assert samples[f"{prefix}_key_id_hash_last_timestamp_seconds", *use] == clock.now().timestamp()
    assert samples[f"{prefix}_key_id_hash_status_last_timestamp_seconds", *key] == clock.now().timestamp()
    assert samples[f"{prefix}_invalid_key_id_from_status_total", ("error", "empty"), ("provider_name", "vault")] == 1
    method = ("grpc_status_code", "OK"), ("method_name", "/v2.KeyManagementService/Decrypt"), ("provider_name", "vault")
    assert samples[f"{prefix}_kms_operations_latency_seconds", *method] == 1


def test_data_keys_are_counted_without_labels():
    metrics = EncryptionMetrics(FakeClock())
    metrics.cache_misses = 2
    metrics.failed_generations = 1
    metrics.generations.observe(0.001)
    samples = samples_of(metrics)
    assert samples["apiserver_storage_envelope_transformation_cache_misses_total",] == 2
    assert samples["apiserver_storage_data_key_generation_failures_total",] == 1
    assert samples["apiserver_storage_data_key_generation_duration_seconds",] == 1
