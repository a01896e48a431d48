"""Trace, history and rights of an embedded cluster."""

import pytest
from tests.unit.testing.objects import config_map, deployment

from steersman.client import tree
from steersman.client.errors import ApiError
from steersman.testing.embedded import EmbeddedCluster

MAPS = tree("v1", "ConfigMap")
DEPLOYMENTS = tree("apps/v1", "Deployment")


@pytest.fixture
async def server():
    """An API server alone."""
    async with EmbeddedCluster(clock="virtual", nodes=0, controllers=[], scheduler=False) as cluster:
        yield cluster


async def test_trace_has_user_code_and_changed_fields(server):
    await server.client().create(config_map("a", x="1"))
    await server.client("editor/2", user="jane", groups=["system:masters"]).patch(MAPS, "a", {"data": {"x": "2"}})
    (record,) = server.requests(user_agent="editor", resource="configmaps")
    assert (record.user, record.verb, record.code, record.namespace, record.name) == (
        "jane",
        "patch",
        200,
        "default",
        "a",
    )
    assert record.diff == ['data.x: "1" → "2"']


async def test_trace_has_refused_requests_and_faults(server):
    server.faults.add(verb="create", respond=500, times=1)
    await server.core.client.through(server.app).request("POST", "/api/v1/namespaces/default/configmaps", body=b"{}")
    (record,) = server.requests(code=500)
    assert record.fault.startswith("respond 500 to create")
    assert record.user == ""


async def test_history_has_every_version_with_its_writer(server):
    client = server.client("editor/1")
    await client.create(config_map("a", x="1"))
    await server.clock.advance(60)
    await client.patch(MAPS, "a", {"data": {"x": "2"}})
    await client.delete(MAPS, "a")
    versions = server.history("configmap/a")
    assert [version.type for version in versions] == ["ADDED", "MODIFIED", "DELETED"]
    assert [version.user_agent for version in versions] == ["editor/1"] * 3
    assert [version.field_manager for version in versions] == ["editor", "editor", ""]
    assert versions[1].diff == ['data.x: "1" → "2"']
    assert versions[1].time == "2026-01-01T00:01:00.000Z"
    assert versions[2].object["data"] == {"x": "2"}


async def test_history_names_the_reconcile_that_wrote_a_version():
    async with EmbeddedCluster(clock="virtual") as cluster:
        await cluster.client().create(deployment("web"))
        await cluster.wait_for("deployment/web", "condition=Available")
        writers = {item.reconcile for item in cluster.history("deployment/web")}
        assert any(
            writer.startswith("deployment-controller default/web (Deployment default/web added") for writer in writers
        )


async def test_history_continues_after_a_restart_and_a_rewind(server):
    snapshot = server.snapshot()
    await server.restart()
    await server.client().create(config_map("a", x="1"))
    await server.rewind(snapshot)
    await server.client().create(config_map("a", x="2"))
    assert [item.object["data"]["x"] for item in server.history("cm/a")] == ["1", "2"]


async def test_rights_used_are_the_fewest_rules(server):
    client = server.client(user="operator", groups=["system:masters"])
    await client.create(config_map("a"))
    await client.get(MAPS, "a")
    await client.list(DEPLOYMENTS)
    await server.core.client.through(server.app, headers=[("impersonate-user", "operator")]).request("GET", "/version")
    with pytest.raises(ApiError):
        await server.client(user="operator").delete(MAPS, "a")
    assert server.rights_used("operator") == [
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "get"]},
        {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["list"]},
        {"nonResourceURLs": ["/version"], "verbs": ["get"]},
    ]
