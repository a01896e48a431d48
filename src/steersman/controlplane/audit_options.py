"""Audit log, built from options."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

from steersman.controlplane.options import OptionError

if TYPE_CHECKING:
    from steersman.apiserver.audit.files import LineFile
    from steersman.apiserver.audit.policy import Policy
    from steersman.apiserver.filters.audit import Auditor, AuditSink
    from steersman.asynckit.clock import Clock
    from steersman.controlplane.options import APIServerOptions

_MEGABYTE: Final = 1024 * 1024


def make_auditor(options: APIServerOptions, *, clock: Clock) -> Auditor | None:
    """Return the auditor; None if auditing is disabled. Raises ``OptionError`` for an invalid policy or unusable file."""
    if options.audit_policy_file is None or not (options.audit_log_path or options.audit_webhook_config_file):
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
        return read_policy(path.read_bytes())
    except OSError as error:
        raise OptionError(
            f"--audit-policy-file: cannot read {path}: {(error.strerror or str(error)).lower()}"
        ) from error
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
        raise OptionError(
            f"--audit-log-path: cannot write {options.audit_log_path}: {(error.strerror or str(error)).lower()}"
        ) from error
