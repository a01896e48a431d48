"""Flags of kube-apiserver about the store, in etcd or embedded.

Upstream: ``k8s.io/apiserver/pkg/server/options/etcd.go``.
"""

from __future__ import annotations

from typing import Final

from steersman.cli import values
from steersman.cli.flag_table import Flag

_SCRAPED: Final = "objects are counted and the size is read when metrics are scraped"
_MEMORY: Final = "GET, LIST and WATCH are served from memory always"

ETCD_FLAGS: Final = (
    Flag(
        "encryption-provider-config",
        values.path,
        "File with providers for encryption at rest (EncryptionConfiguration)",
    ),
    Flag(
        "encryption-provider-config-automatic-reload",
        values.boolean,
        "Reload --encryption-provider-config when it changes",
    ),
    Flag("etcd-cafile", values.path, "File with the certificate authority of etcd"),
    Flag("etcd-certfile", values.path, "File with the client certificate for etcd"),
    Flag(
        "etcd-compaction-interval",
        values.duration,
        "Time between compactions of etcd by the API servers in turn; 0 for none",
    ),
    Flag("etcd-count-metric-poll-period", values.duration, "Period of counting objects for metrics", unused=_SCRAPED),
    Flag(
        "etcd-db-metric-poll-interval", values.duration, "Period of reading the size of the database", unused=_SCRAPED
    ),
    Flag("etcd-healthcheck-timeout", values.duration, "Timeout of health checks of etcd"),
    Flag("etcd-keyfile", values.path, "File with the key of --etcd-certfile"),
    Flag("etcd-prefix", str, "Prefix of all keys in etcd"),
    Flag("etcd-readycheck-timeout", values.duration, "Timeout of readiness checks of etcd"),
    Flag(
        "etcd-servers",
        values.names,
        "URLs of etcd members, which keep the objects; without effect with --storage or --ephemeral",
    ),
    Flag(
        "etcd-servers-overrides",
        values.names,
        "Clusters of single resources: group/resource#URL;URL, …, with an empty group for core resources",
    ),
    Flag("event-ttl", values.duration, "Time after which Events are deleted"),
    Flag(
        "lease-reuse-duration-seconds",
        values.count,
        "Time in which an etcd lease is shared by objects",
        unused="leases are shared for a twentieth of --event-ttl, at most a minute",
    ),
    Flag(
        "storage-backend",
        values.storage_backend,
        "Storage of the objects: etcd3",
        unused="--etcd-servers and --storage choose the store",
    ),
    Flag(
        "storage-media-type",
        str,
        "Media type of stored objects: application/json, application/vnd.kubernetes.protobuf; custom resources are always JSON",
    ),
    Flag("watch-cache", values.boolean, "Serve from a cache", unused=_MEMORY),
    Flag("watch-cache-sizes", values.names, "Sizes of caches by resource", unused=_MEMORY),
)
