"""Hooks and their checks."""

import pytest

from steersman.apiserver.health.checks import Unhealthy
from steersman.controlplane.post_start import PostStartHooks, make_default_service_accounts, make_system_namespaces
from steersman.testing import InProcessAPIServer


async def test_a_check_passes_once_its_hook_is_done():
    hooks, ran = PostStartHooks(), []

    async def hook() -> None:
        ran.append(1)

    check = hooks.add("mine", hook)
    assert check.name == "poststarthook/mine"
    with pytest.raises(Unhealthy):
        await check.probe()
    await hooks.run()
    await check.probe()
    assert ran == [1]


async def test_missing_namespaces_are_made_and_existing_ones_stay():
    async with InProcessAPIServer() as server:
        before = server.store.revision
        await make_system_namespaces(server.core.client, server.options.system_namespaces)
        assert server.store.revision == before
        await make_system_namespaces(server.core.client, ["mine", "default"])
        assert (await server.request("GET", "/api/v1/namespaces/mine")).code == 200


async def test_a_namespace_that_cannot_be_made_stops_the_start():
    async with InProcessAPIServer() as server:
        with pytest.raises(RuntimeError, match="namespaces"):
            await make_system_namespaces(server.core.client, ["No Name"])


async def test_default_service_accounts_are_created_once():
    async with InProcessAPIServer() as server:
        path = "/api/v1/namespaces/default/serviceaccounts/default"
        assert (await server.request("GET", path)).code == 404
        await make_default_service_accounts(server.core.client, server.options.system_namespaces)
        created = await server.request("GET", path)
        assert created.code == 200
        await make_default_service_accounts(server.core.client, server.options.system_namespaces)
        assert (await server.request("GET", path)).json() == created.json()


async def test_default_service_account_that_is_refused_does_not_stop_the_start(caplog):
    async with InProcessAPIServer() as server:
        await make_default_service_accounts(server.core.client, ["missing", "default"])
        assert (await server.request("GET", "/api/v1/namespaces/default/serviceaccounts/default")).code == 200
    assert "cannot create the service account default in missing" in caplog.text
