"""Flags of the audit log and the audit webhook of kube-apiserver.

Upstream: ``k8s.io/apiserver/pkg/server/options/audit.go``.
"""

from __future__ import annotations

from typing import Final

from steersman.cli import values
from steersman.cli.flag_table import Flag


def _batch_flags(sink: str, done: str) -> tuple[Flag, ...]:
    """Return the flags about batches and sizes, common to the audit log and the audit webhook."""
    name = f"audit-{sink}"
    return (
        Flag(f"{name}-batch-buffer-size", values.count, f"Maximum number of events that wait to be {done}"),
        Flag(f"{name}-batch-max-size", values.count, "Maximum number of events of a batch, in mode batch"),
        Flag(
            f"{name}-batch-max-wait",
            values.duration,
            f"Time after which a batch that is not full is {done}, in mode batch",
            f"audit_{sink}_batch_max_wait_seconds",
        ),
        Flag(f"{name}-batch-throttle-enable", values.boolean, "Limit the rate of batches"),
        Flag(f"{name}-batch-throttle-qps", values.number, "Average number of batches per second, when throttling"),
        Flag(f"{name}-batch-throttle-burst", values.count, "Maximum burst of batches, when throttling"),
        Flag(f"{name}-truncate-enabled", values.boolean, "Remove the objects from events that are too large"),
        Flag(f"{name}-truncate-max-event-size", values.count, "Maximum size of an event in bytes, when truncating"),
        Flag(f"{name}-truncate-max-batch-size", values.count, "Maximum size of a batch in bytes, when truncating"),
    )


AUDIT_FLAGS: Final = (
    Flag("audit-policy-file", values.path, "File with the audit policy (audit.k8s.io/v1)"),
    Flag("audit-log-path", str, "File for audit events; - for standard output"),
    Flag("audit-log-format", str, "Format of the audit log: json or legacy"),
    Flag("audit-log-version", str, "API version of events in the audit log"),
    Flag("audit-log-mode", str, "How events are written: blocking, blocking-strict or batch"),
    Flag("audit-log-maxsize", values.count, "Size in megabytes after which the audit log is rotated; 0 for no limit"),
    Flag("audit-log-maxage", values.count, "Days for which rotated audit logs are kept; 0 for no limit"),
    Flag("audit-log-maxbackup", values.count, "Number of rotated audit logs that are kept; 0 for no limit"),
    Flag("audit-log-compress", values.boolean, "Compress rotated audit logs with gzip"),
    *_batch_flags("log", "written"),
    Flag("audit-webhook-config-file", values.path, "Kubeconfig of the server that receives audit events"),
    Flag("audit-webhook-version", str, "API version of events sent to the webhook"),
    Flag("audit-webhook-mode", str, "How events are sent: blocking, blocking-strict or batch"),
    Flag(
        "audit-webhook-initial-backoff",
        values.duration,
        "Time to wait before the first retry of a failed request",
        "audit_webhook_initial_backoff_seconds",
    ),
    *_batch_flags("webhook", "sent"),
)
