"""Metrics of encryption at rest, under upstream's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apimachinery.label_sets import hash_label
from steersman.apiserver.observability.metrics import Family, counter, gauge, histogram
from steersman.storage.encryption.kms import key_id_hash

if TYPE_CHECKING:
    from steersman.storage.encryption.metrics import EncryptionMetrics


def families_of(metrics: EncryptionMetrics, *, server_id: str) -> list[Family]:
    """Return the metric families; ``server_id`` is the ID of the API server."""
    return [*_transformations(metrics), *_data_keys(metrics), *_plugins(metrics, hash_label(server_id.encode()))]


def _transformations(metrics: EncryptionMetrics) -> list[Family]:
    return [
        counter(
            "apiserver_storage_transformation_operations_total",
            "Encryptions (to_storage) and decryptions (from_storage) of values, by resource, provider and status.",
            [
                (
                    (
                        ("resource", resource),
                        ("transformation_type", kind),
                        ("transformer_prefix", prefix),
                        ("status", status),
                    ),
                    count,
                )
                for (resource, kind, prefix, status), count in sorted(metrics.transformations.items())
            ],
        ),
        histogram(
            "apiserver_storage_transformation_duration_seconds",
            "Duration of encryptions and decryptions of values in seconds.",
            [
                ((("resource", resource), ("transformation_type", kind), ("transformer_prefix", prefix)), durations)
                for (resource, kind, prefix), durations in sorted(metrics.durations.items())
            ],
        ),
    ]


def _data_keys(metrics: EncryptionMetrics) -> list[Family]:
    return [
        counter(
            "apiserver_storage_envelope_transformation_cache_misses_total",
            "Data keys that were not in memory.",
            [((), metrics.cache_misses)],
        ),
        histogram(
            "apiserver_storage_data_key_generation_duration_seconds",
            "Duration of the generation of data keys in seconds.",
            [((), metrics.generations)],
        ),
        counter(
            "apiserver_storage_data_key_generation_failures_total",
            "Failed generations of data keys.",
            [((), metrics.failed_generations)],
        ),
    ]


def _plugins(metrics: EncryptionMetrics, server_hash: str) -> list[Family]:
    server = ("apiserver_id_hash", server_hash)
    uses = [
        (
            (
                ("transformation_type", kind),
                ("provider_name", provider),
                ("key_id_hash", key_id_hash(key_id)),
                server,
            ),
            use,
        )
        for (kind, provider, key_id), use in metrics.key_uses.items()
    ]
    return [
        histogram(
            "apiserver_envelope_encryption_kms_operations_latency_seconds",
            "Duration of requests to KMS plugins in seconds, by method and status.",
            [
                ((("provider_name", provider), ("method_name", method), ("grpc_status_code", status)), durations)
                for (provider, method, status), durations in sorted(metrics.operations.items())
            ],
        ),
        counter(
            "apiserver_envelope_encryption_key_id_hash_total",
            "Uses of a key of a KMS plugin.",
            [(labels, use.count) for labels, use in uses],
        ),
        gauge(
            "apiserver_envelope_encryption_key_id_hash_last_timestamp_seconds",
            "Time of the last use of a key of a KMS plugin.",
            [(labels, use.seconds) for labels, use in uses],
        ),
        gauge(
            "apiserver_envelope_encryption_key_id_hash_status_last_timestamp_seconds",
            "Time of the last status of a KMS plugin that named a key.",
            [
                ((("provider_name", provider), ("key_id_hash", key_id_hash(key_id)), server), seconds)
                for (provider, key_id), seconds in metrics.key_statuses.items()
            ],
        ),
        counter(
            "apiserver_envelope_encryption_invalid_key_id_from_status_total",
            "Statuses of KMS plugins with an invalid key ID, by reason.",
            [
                ((("provider_name", provider), ("error", reason)), count)
                for (provider, reason), count in sorted(metrics.invalid_key_ids.items())
            ],
        ),
    ]
