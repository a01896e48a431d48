"""Flags of the audit log and the audit webhook."""

from __future__ import annotations

from steersman.cli.audit_flags import AUDIT_FLAGS
from steersman.controlplane.options import APIServerOptions


def test_audit_flags_have_an_option_each():
    options = {name for name in APIServerOptions.__struct_fields__ if name.startswith("audit_")}
    assert {flag.target for flag in AUDIT_FLAGS} == options


def test_log_and_webhook_have_the_same_batch_flags():
    batches = {
        sink: {flag.name.removeprefix(f"audit-{sink}-") for flag in AUDIT_FLAGS if f"{sink}-batch" in flag.name}
        for sink in ("log", "webhook")
    }
    assert batches["log"] == batches["webhook"]
