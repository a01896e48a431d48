"""Series that writes change: durations of admission plugins and steps."""

from __future__ import annotations

import pytest
from tests.conformance.metrics.series import Scrapes, series

from steersman.testing import InProcessAPIServer

PLUGIN = "apiserver_admission_controller_admission_duration_seconds_count"
STEP = "apiserver_admission_step_admission_duration_seconds_count"


@pytest.fixture
async def server():
    async with InProcessAPIServer() as server:
        yield server


async def test_accepted_write_counts_its_plugins_and_both_steps(server):
    scrapes = Scrapes(server)
    await scrapes.begin()
    answer = await server.request("POST", "/api/v1/namespaces/default/configmaps", body=b'{"metadata":{"name":"a"}}')
    assert answer.code == 201
    changes = await scrapes.changes(PLUGIN, STEP)
    labels = {"operation": "CREATE", "rejected": "false"}
    assert changes[series(PLUGIN, name="NamespaceLifecycle", type="admit", **labels)] == 1
    assert changes[series(STEP, type="admit", **labels)] == 1
    assert changes[series(STEP, type="validate", **labels)] == 1


async def test_rejected_write_counts_the_plugin_that_rejects_it(server):
    scrapes = Scrapes(server)
    await scrapes.begin()
    answer = await server.request("POST", "/api/v1/namespaces/absent/configmaps", body=b'{"metadata":{"name":"a"}}')
    assert answer.code == 404
    labels = {"operation": "CREATE", "rejected": "true", "type": "admit"}
    assert await scrapes.changes(PLUGIN, STEP) == {
        series(PLUGIN, name="NamespaceLifecycle", **labels): 1,
        series(STEP, **labels): 1,
    }
