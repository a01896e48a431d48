"""Metrics of the API server as a component."""

import pytest

from steersman.controlplane.server_metrics import ServerMetrics


async def families(*, audits: bool) -> dict:
    return {family.name: family.samples for family in await ServerMetrics({"AllBeta": True}, audits=audits).collect()}


async def test_version_and_feature_gates_are_reported():
    reported = await families(audits=True)
    ((_, labels, value),) = reported["version_info"]
    assert (dict(labels)["binary"], value) == ("1.36", 1)
    assert ("", (("name", "AllBeta"), ("stage", "BETA")), True) in reported["kubernetes_feature_enabled"]


@pytest.mark.parametrize("audits", [True, False])
async def test_audit_counters_are_zero_without_auditor(audits: bool):
    assert ("apiserver_audit_event_total" in await families(audits=audits)) is not audits
