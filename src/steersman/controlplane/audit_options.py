"""Audit log, built from options, and validation of these options. Upstream: ``AuditOptions`` of k8s.io/apiserver/pkg/server/options/audit.go"""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.gotext import errno_text
from steersman.controlplane.option_files import check_kubeconfig, read_file
from steersman.controlplane.options import OptionError

if TYPE_CHECKING:
    from steersman.apiserver.audit.files import LineFile
    from steersman.apiserver.audit.policy import Policy
    from steersman.apiserver.filters.audit import Auditor, AuditSink
    from steersman.asynckit.clock import Clock
    from steersman.controlplane.options import APIServerOptions

_MEGABYTE: Final = 1024 * 1024
_LOG_FORMATS: Final = ("json", "legacy")
_MODES: Final = ("batch", "blocking", "blocking-strict")
_VERSIONS: Final = ("audit.k8s.io/v1",)


def check_audit(options: APIServerOptions) -> list[str]:
    """Validate the options and the files that they name; return warnings. Raises ``OptionError``."""
    for flag, value, expected in (
        ("--audit-log-format", options.audit_log_format, _LOG_FORMATS),
        ("--audit-log-mode", options.audit_log_mode, _MODES),
        ("--audit-log-version", options.audit_log_version, _VERSIONS),
        ("--audit-webhook-mode", options.audit_webhook_mode, _MODES),
        ("--audit-webhook-version", options.audit_webhook_version, _VERSIONS),
    ):
        if value not in expected:
            raise OptionError(f'{flag}: "{value}" is not supported, expected one of {", ".join(expected)}')
    for name in ("log", "webhook"):
        _check_batches(options, name)
    if options.audit_log_path and options.audit_log_path != "-" and os.path.isdir(options.audit_log_path):  # noqa: PTH112
        raise OptionError(f"--audit-log-path: {options.audit_log_path} is a directory, expected a file or -")
    if options.audit_policy_file is not None:
        # Also without a log or a webhook: an invalid policy is reported immediately.
        read_audit_policy(options.audit_policy_file)
    if options.audit_webhook_config_file is not None:
        check_kubeconfig("--audit-webhook-config-file", options.audit_webhook_config_file)
    has_policy, has_backend = options.audit_policy_file is not None, _has_backend(options)
    if has_policy and not has_backend:
        return ["--audit-policy-file without --audit-log-path or --audit-webhook-config-file records nothing"]
    if has_backend and not has_policy:
        return ["--audit-log-path and --audit-webhook-config-file record nothing without --audit-policy-file"]
    return []


def _has_backend(options: APIServerOptions) -> bool:
    return bool(options.audit_log_path) or options.audit_webhook_config_file is not None


def _check_batches(options: APIServerOptions, name: str) -> None:
    def option(field: str) -> float:
        value: float = getattr(options, f"audit_{name}_{field}")
        return value

    prefix = f"--audit-{name}"
    if option("batch_buffer_size") < 1:
        raise OptionError(f"{prefix}-batch-buffer-size: must be a positive number")
    if option("batch_max_size") < 1:
        raise OptionError(f"{prefix}-batch-max-size: must be a positive number")
    if option("batch_throttle_enable"):
        if option("batch_throttle_qps") <= 0:
            raise OptionError(f"{prefix}-batch-throttle-qps: must be a positive number when throttling is enabled")
        if option("batch_throttle_burst") < 1:
            raise OptionError(f"{prefix}-batch-throttle-burst: must be a positive number when throttling is enabled")
    if option("truncate_enabled"):
        event, batch = option("truncate_max_event_size"), option("truncate_max_batch_size")
        if event < 1:
            raise OptionError(f"{prefix}-truncate-max-event-size: must be a positive number")
        if batch < event:
            raise OptionError(f"{prefix}-truncate-max-batch-size: {batch} must be at least the event size {event}")


def make_auditor(options: APIServerOptions, *, clock: Clock) -> Auditor | None:
    """Return the auditor; None if auditing is disabled. Raises ``OptionError`` for an invalid policy or unusable file."""
    if options.audit_policy_file is None or not _has_backend(options):
        return None
    from steersman.apiserver.filters.audit import Auditor  # noqa: PLC0415 — most servers record nothing

    policy = read_audit_policy(options.audit_policy_file)
    sinks = []
    if options.audit_webhook_config_file is not None:  # first, because it opens no files
        sinks.append(_webhook_sink(options, options.audit_webhook_config_file, clock))
    if options.audit_log_path:
        sinks.append(_log_sink(options, clock))
    return Auditor(policy, sinks, now=clock.now)


def read_audit_policy(path: Path) -> Policy:
    """Read ``--audit-policy-file``. Raise ``OptionError``, which names the flag, the file and the field."""
    from steersman.apiserver.audit.policy import PolicyError, read_policy  # noqa: PLC0415 — as above

    try:
        return read_policy(read_file("--audit-policy-file", path))
    except PolicyError as error:
        raise OptionError(f"--audit-policy-file: {path}: {error}") from error


def _log_sink(options: APIServerOptions, clock: Clock) -> AuditSink:
    from steersman.apiserver.audit.log import AuditLog, BatchConfig, ThreadedDestination  # noqa: PLC0415 — as above
    from steersman.apiserver.filters.audit import AuditSink  # noqa: PLC0415 — as above

    throttled = options.audit_log_batch_throttle_enable
    batching = BatchConfig(
        mode=options.audit_log_mode,
        buffer_size=options.audit_log_batch_buffer_size,
        batch_max_size=options.audit_log_batch_max_size,
        batch_max_wait_seconds=options.audit_log_batch_max_wait_seconds,
        batch_max_bytes=options.audit_log_truncate_max_batch_size if options.audit_log_truncate_enabled else 0,
        throttle_qps=options.audit_log_batch_throttle_qps if throttled else 0.0,
        throttle_burst=options.audit_log_batch_throttle_burst,
    )
    log = AuditLog(ThreadedDestination(_file(options, clock)), batching, clock=clock)
    size_max = options.audit_log_truncate_max_event_size if options.audit_log_truncate_enabled else 0
    return AuditSink(name="log", log=log, legacy=options.audit_log_format == "legacy", size_max_bytes=size_max)


def _webhook_sink(options: APIServerOptions, file: Path, clock: Clock) -> AuditSink:
    from steersman.apiserver.audit.log import AuditLog, BatchConfig  # noqa: PLC0415 — as above
    from steersman.apiserver.filters.audit import AuditSink  # noqa: PLC0415 — as above
    from steersman.controlplane.audit_webhook import open_webhook  # noqa: PLC0415 — as above

    throttled = options.audit_webhook_batch_throttle_enable
    batching = BatchConfig(
        mode=options.audit_webhook_mode,
        buffer_size=options.audit_webhook_batch_buffer_size,
        batch_max_size=options.audit_webhook_batch_max_size,
        batch_max_wait_seconds=options.audit_webhook_batch_max_wait_seconds,
        batch_max_bytes=options.audit_webhook_truncate_max_batch_size if options.audit_webhook_truncate_enabled else 0,
        throttle_qps=options.audit_webhook_batch_throttle_qps if throttled else 0.0,
        throttle_burst=options.audit_webhook_batch_throttle_burst,
    )
    dice = Random()  # noqa: S311 — pauses are no secret
    backoff = options.audit_webhook_initial_backoff_seconds
    webhook = open_webhook(file, initial_backoff_seconds=backoff, clock=clock, dice=dice)
    size_max = options.audit_webhook_truncate_max_event_size if options.audit_webhook_truncate_enabled else 0
    return AuditSink(name="webhook", log=AuditLog(webhook, batching, clock=clock), size_max_bytes=size_max)


def _file(options: APIServerOptions, clock: Clock) -> LineFile:
    from steersman.apiserver.audit.files import RotatingFile, Rotation, StandardOutput  # noqa: PLC0415 — as above

    if options.audit_log_path == "-":
        return StandardOutput()
    rotation = Rotation(
        size_max_bytes=options.audit_log_maxsize * _MEGABYTE,
        age_max_days=options.audit_log_maxage,
        backups_max=options.audit_log_maxbackup,
        compress=options.audit_log_compress,
    )
    try:
        return RotatingFile(Path(options.audit_log_path).expanduser(), rotation, now=clock.now)
    except OSError as error:
        raise OptionError(f"--audit-log-path: cannot write {options.audit_log_path}: {errno_text(error)}") from error
