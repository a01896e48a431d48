from __future__ import annotations

import pytest
from tests.unit.apiserver.writing import CONFIG_MAPS, Server

from steersman.apiserver.admission.interface import Operation
from steersman.apiserver.admission.namespace_lifecycle import NamespaceLifecycle

N = "/api/v1/namespaces/n"


async def _terminating(server: Server) -> None:
    await server.make("/api/v1/namespaces", metadata={"name": "n"})
    await server.make(f"{N}/configmaps")
    answer = await server.call("DELETE", N)
    assert answer.body["status"]["phase"] == "Terminating"


async def test_create_in_a_missing_namespace_is_rejected():
    async with Server() as server:
        answer = await server.call("POST", f"{N}/configmaps", {"metadata": {"name": "a"}})
        assert (answer.code, answer.body["message"]) == (404, 'namespaces "n" not found')
        assert answer.body["details"] == {"name": "n", "kind": "namespaces"}


async def test_terminating_namespace_rejects_creates_and_allows_updates():
    async with Server() as server:
        await _terminating(server)
        answer = await server.call("POST", f"{N}/configmaps", {"metadata": {"name": "b"}})
        assert (answer.code, answer.body["message"]) == (
            403,
            'configmaps "b" is forbidden: unable to create new content in namespace n because it is being terminated',
        )
        assert answer.body["details"]["causes"] == [
            {
                "reason": "NamespaceTerminating",
                "message": "namespace n is being terminated",
                "field": "metadata.namespace",
            }
        ]
        assert (await server.merge(f"{N}/configmaps/a", {"data": {"k": "v"}})).code == 200
        assert (await server.call("DELETE", f"{N}/configmaps/a")).code == 200


async def test_dry_run_is_rejected_as_well():
    async with Server() as server:
        answer = await server.call("POST", f"{N}/configmaps", {"metadata": {"name": "a"}}, query="dryRun=All")
        assert answer.code == 404


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
async def test_system_namespaces_cannot_be_deleted(name):
    async with Server() as server:
        if name != "default":
            await server.make("/api/v1/namespaces", metadata={"name": name})
        answer = await server.call("DELETE", f"/api/v1/namespaces/{name}")
        assert (answer.code, answer.body["message"]) == (
            403,
            f'namespaces "{name}" is forbidden: this namespace may not be deleted',
        )


async def test_recreated_namespace_accepts_creates_immediately():
    async with Server() as server:
        await _terminating(server)
        await server.call("DELETE", f"{N}/configmaps/a")
        finalized = await server.call("PUT", f"{N}/finalize", {"metadata": {"name": "n"}, "spec": {"finalizers": []}})
        assert finalized.code == 200
        assert (await server.call("POST", f"{N}/configmaps", {"metadata": {"name": "a"}})).code == 404
        await server.make("/api/v1/namespaces", metadata={"name": "n"})
        await server.make(f"{N}/configmaps")


async def test_handles_writes_in_namespaces_and_deletes_of_namespaces():
    async with Server() as server:
        plugin = NamespaceLifecycle(server.registry.stored("namespaces").cache)

        def handles(group: str, name: str, operation: Operation) -> bool:
            return plugin.handles(server.registry.resource(group, "v1", name), "", operation)

        assert handles("", "configmaps", Operation.CREATE)
        assert handles("", "configmaps", Operation.UPDATE)
        assert not handles("", "configmaps", Operation.DELETE)
        assert not handles("", "nodes", Operation.CREATE)
        assert not handles("", "namespaces", Operation.CREATE)
        assert handles("", "namespaces", Operation.DELETE)
        assert not handles("authorization.k8s.io", "localsubjectaccessreviews", Operation.CREATE)
        assert (await server.call("GET", CONFIG_MAPS)).code == 200
