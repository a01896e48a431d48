"""Post-start hooks and their health checks."""

import asyncio
import logging

import pytest

from steersman.apiserver.health.checks import Unhealthy
from steersman.controlplane.bootstrap.errors import BootstrapError
from steersman.controlplane.bootstrap.post_start_hooks import (
    PostStartHooks,
    create_default_service_accounts,
    create_system_namespaces,
)
from steersman.testing import InProcessAPIServer


@pytest.fixture
def hooks():
    return PostStartHooks()


async def test_check_passes_once_its_hook_is_done(hooks):
    ran = []

    async def hook() -> None:
        ran.append(1)

    hooks.add("mine", hook)
    (check,) = hooks.checks
    assert check.name == "poststarthook/mine"
    with pytest.raises(Unhealthy):
        await check.probe()
    await hooks.run()
    await check.probe()
    assert ran == [1]


async def test_hooks_without_dependencies_run_concurrently(hooks):
    barrier = asyncio.Barrier(2)
    hooks.add("first", barrier.wait)
    hooks.add("second", barrier.wait)
    await hooks.run()


async def test_hook_runs_after_all_its_dependencies(hooks):
    order, release = [], asyncio.Event()

    async def slow() -> None:
        await release.wait()
        order.append("slow")

    async def fast() -> None:
        order.append("fast")
        release.set()

    async def dependent() -> None:
        order.append("dependent")

    hooks.add("slow", slow)
    hooks.add("fast", fast)
    hooks.add("dependent", dependent, after=["slow", "fast"])
    await hooks.run()
    assert order == ["fast", "slow", "dependent"]


async def test_hook_that_raises_cancels_the_others_and_skips_its_dependents(hooks):
    cancelled, ran = asyncio.Event(), []

    async def fail() -> None:
        raise BootstrapError("no")

    async def hang() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async def dependent() -> None:
        ran.append(1)

    hooks.add("hang", hang)
    hooks.add("fail", fail)
    hooks.add("dependent", dependent, after=["fail"])
    with pytest.raises(BootstrapError, match="no"):
        await hooks.run()
    assert (cancelled.is_set(), ran) == (True, [])


def test_dependency_has_to_be_added_before(hooks):
    with pytest.raises(KeyError, match="later"):
        hooks.add("mine", asyncio.Event().wait, after=["later"])


async def test_create_system_namespaces_creates_missing_ones_only():
    async with InProcessAPIServer() as server:
        before = server.store.revision
        await create_system_namespaces(server.core.client, server.options.system_namespaces)
        assert server.store.revision == before
        await create_system_namespaces(server.core.client, ["mine", "default"])
        assert (await server.request("GET", "/api/v1/namespaces/mine")).code == 200


async def test_create_system_namespaces_logs_a_refused_one_and_creates_the_others(caplog):
    async with InProcessAPIServer() as server:
        with caplog.at_level(logging.ERROR):
            await create_system_namespaces(server.core.client, ["No Name", "mine"])
        assert (await server.request("GET", "/api/v1/namespaces/mine")).code == 200
    assert "unable to create required kubernetes system namespace No Name: " in caplog.text


async def test_default_service_accounts_are_created_once():
    async with InProcessAPIServer() as server:
        path = "/api/v1/namespaces/default/serviceaccounts/default"
        assert (await server.request("GET", path)).code == 404
        await create_default_service_accounts(server.core.client, server.options.system_namespaces)
        created = await server.request("GET", path)
        assert created.code == 200
        await create_default_service_accounts(server.core.client, server.options.system_namespaces)
        assert (await server.request("GET", path)).json() == created.json()


async def test_default_service_account_that_is_refused_does_not_stop_the_start(caplog):
    async with InProcessAPIServer() as server:
        await create_default_service_accounts(server.core.client, ["missing", "default"])
        assert (await server.request("GET", "/api/v1/namespaces/default/serviceaccounts/default")).code == 200
    assert "cannot create the service account default in missing" in caplog.text
