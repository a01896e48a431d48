from __future__ import annotations

from functools import partial

import pytest
from tests.unit.apiserver.writing import Server

from steersman.apiserver.health import component_probes
from steersman.apiserver.health.component_probes import Health

COMPONENTS = "/api/v1/componentstatuses"
TABLE = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}


@pytest.fixture(autouse=True)
def ports(monkeypatch):
    """The scheduler answers, the controller manager does not."""

    async def probe_port(port, *, is_tls=True):
        return Health(is_healthy=True, message="ok") if port == 10259 else Health(is_healthy=False, message="refused")

    monkeypatch.setattr(component_probes, "probe_port", probe_port)


async def test_list_has_a_condition_for_each_component():
    async with Server() as server:
        answer = await server.call("GET", COMPONENTS)
        assert answer.body == {
            "kind": "ComponentStatusList",
            "apiVersion": "v1",
            "metadata": {},
            "items": [
                {
                    "metadata": {"name": "controller-manager"},
                    "conditions": [{"type": "Healthy", "status": "False", "message": "refused"}],
                },
                {
                    "metadata": {"name": "etcd-0"},
                    "conditions": [{"type": "Healthy", "status": "True", "message": "ok"}],
                },
                {
                    "metadata": {"name": "scheduler"},
                    "conditions": [{"type": "Healthy", "status": "True", "message": "ok"}],
                },
            ],
        }
        assert answer.warnings == ["v1 ComponentStatus is deprecated in v1.19+"]


async def test_table_of_one_component_has_no_resource_version():
    async with Server() as server:
        answer = await server.call("GET", f"{COMPONENTS}/etcd-0", headers=TABLE)
        assert answer.body["metadata"] == {}


@pytest.mark.interpreted
async def test_failure_of_the_storage_is_the_error_of_etcd(monkeypatch):
    async def fail():
        raise OSError("disk failure")

    async with Server() as server:
        monkeypatch.setattr(server.store, "current_revision", fail)
        answer = await server.call("GET", f"{COMPONENTS}/etcd-0")
        assert answer.body["conditions"] == [{"type": "Healthy", "status": "False", "error": "disk failure"}]


async def test_get_returns_one_component():
    async with Server() as server:
        answer = await server.call("GET", f"{COMPONENTS}/scheduler")
        assert (answer.body["kind"], answer.body["metadata"]) == ("ComponentStatus", {"name": "scheduler"})


async def test_get_of_an_unknown_component_is_404():
    async with Server() as server:
        answer = await server.call("GET", f"{COMPONENTS}/none")
        assert (answer.code, answer.body["details"]) == (404, {"name": "none", "kind": "componentstatus"})


async def test_list_is_shown_as_a_table_and_can_be_selected():
    async with Server() as server:
        table = (await server.call("GET", COMPONENTS, headers=TABLE)).body
        assert [row["cells"] for row in table["rows"]] == [
            ["controller-manager", "Unhealthy", "refused", ""],
            ["etcd-0", "Healthy", "ok", ""],
            ["scheduler", "Healthy", "ok", ""],
        ]
        selected = await server.call("GET", COMPONENTS, query="fieldSelector=metadata.name%3Dscheduler")
        assert [item["metadata"]["name"] for item in selected.body["items"]] == ["scheduler"]


@pytest.mark.parametrize(("method", "path"), [("POST", COMPONENTS), ("DELETE", f"{COMPONENTS}/scheduler")])
async def test_writes_are_405(method, path):
    async with Server() as server:
        call = partial(server.call, method, path)
        assert (await (call({"metadata": {"name": "a"}}) if method == "POST" else call())).code == 405


async def test_watch_is_405():
    async with Server() as server:
        answer = await server.call("GET", COMPONENTS, query="watch=true")
        assert (answer.code, answer.body["details"]) == (405, {"kind": "componentstatuses"})
        assert answer.body["message"] == 'watch is not supported on resources of kind "componentstatuses"'
