"""Metrics of the API server as a component."""

import pytest

from steersman.apiserver.server.http1.handshakes import Handshakes
from steersman.asynckit.clock import FakeClock
from steersman.controlplane.server_metrics import ServerMetrics


async def families(*, audits: bool) -> dict:
    metrics = ServerMetrics({"AllBeta": True}, Handshakes(FakeClock()), audits=audits)
    return {family.name: family.samples for family in await metrics.collect()}


async def test_version_and_feature_gates_are_reported():
    reported = await families(audits=True)
    ((_, labels, value),) = reported["version_info"]
    assert (dict(labels)["binary"], value) == ("1.36", 1)
    assert ("", (("name", "AllBeta"), ("stage", "BETA")), True) in reported["kubernetes_feature_enabled"]


@pytest.mark.parametrize("audits", [True, False])
async def test_audit_counters_are_zero_without_auditor(audits: bool):
    assert ("apiserver_audit_event_total" in await families(audits=audits)) is not audits


async def test_failed_handshakes_and_build_are_reported():
    reported = await families(audits=True)
    assert reported["apiserver_tls_handshake_errors_total"] == [("", (), 0)]
    ((_, labels, value),) = reported["kubernetes_build_info"]
    assert (dict(labels)["minor"], value) == ("36", 1)
