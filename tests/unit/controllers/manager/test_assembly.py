"""Construction of a manager from options."""

from __future__ import annotations

import asyncio
import logging

import pytest
from lightkube.models.core_v1 import Pod
from msgspec import structs
from tests.installed import install

from steersman.client.errors import RequestFailed
from steersman.client.transport import Response, TransportError
from steersman.controllers.entry_points import RegistryError
from steersman.controllers.manager import assembly
from steersman.controllers.manager.assembly import assemble, missing, resources_of, selected, wait_for_server
from steersman.controllers.manager.identities import OneIdentity
from steersman.controllers.manager.options import ManagerOptions
from steersman.controllers.registry import Registration, find
from steersman.controllers.shared.served import discover

ONE = ("replicationcontroller",)


def options(**more):
    return ManagerOptions(**{"controllers": ONE, "leader_elect": False, "port": 0, **more})


@pytest.fixture
async def running(cluster):
    """``await running(options)``: a manager that runs."""
    tasks = []

    async def start(configured):
        identities = OneIdentity(cluster.client._transport, configured, clock=cluster.clock)
        manager = await assemble(configured, identities, identity="me")
        task = asyncio.create_task(manager.run())
        tasks.append((manager, task))
        await cluster.until(lambda: task.done() or manager.is_ready)
        return manager, identities, task

    yield start
    for manager, task in tasks:
        manager.stop()
        await cluster.until(task.done)
        task.result()


async def test_assemble_runs_the_enabled_controllers(cluster, running, pod_spec):
    _, identities, _ = await running(options())
    template = {"metadata": {"labels": {"app": "x"}}, "spec": pod_spec}
    await cluster.make(
        "v1", "ReplicationController", "rc", namespace="default", spec={"replicas": 2, "template": template}
    )

    async def two():
        return len(await cluster.client.list(Pod)) == 2

    await cluster.until(two)
    assert len(await cluster.until(lambda: cluster.events("SuccessfulCreate"))) == 2
    labels = {"name": "replicationcontroller-controller", "manager": "kube-controller-manager"}
    assert identities.metrics.registry.get_sample_value("running_managed_controllers", labels) == 1


async def test_controllers_have_health_checks(cluster, running):
    manager, _, _ = await running(options(controllers=("replicationcontroller", "replicaset")))
    page = await manager.healthz.page({"verbose": ""})
    assert page.status == 200
    assert b"[+]replicationcontroller-controller ok" in page.body
    assert b"[+]replicaset-controller ok" in page.body


async def test_ended_controller_is_unhealthy(cluster, running):
    manager, identities, task = await running(options())
    manager.stop()
    await cluster.until(task.done)
    assert (await manager.healthz.page({})).status == 500
    labels = {"name": "replicationcontroller-controller", "manager": "kube-controller-manager"}
    assert identities.metrics.registry.get_sample_value("running_managed_controllers", labels) == 0


async def test_lease_is_held_while_running_and_released(cluster, running):
    manager, _, task = await running(options(leader_elect=True))
    lease = await cluster.eventually(
        "coordination.k8s.io/v1", "Lease", "kube-controller-manager", bool, namespace="kube-system"
    )
    assert lease["spec"]["holderIdentity"] == "me"
    manager.stop()
    await cluster.until(task.done)
    lease = await cluster.find("coordination.k8s.io/v1", "Lease", "kube-controller-manager", namespace="kube-system")
    assert not lease["spec"].get("holderIdentity")


async def test_controller_start_interval_delays_starts(cluster):
    configured = options(controllers=("replicationcontroller", "replicaset"), controller_start_interval_seconds=60.0)
    identities = OneIdentity(cluster.client._transport, configured, clock=cluster.clock)
    manager = await assemble(configured, identities, identity="me")
    task = asyncio.create_task(manager.run())
    await cluster.clock.advance(30)
    assert [runnable.is_ready for runnable in manager._runnables] == [True, False]
    await cluster.clock.advance(31)
    assert manager.is_ready
    manager.stop()
    await cluster.until(task.done)


async def test_manager_stops_controllers_whose_start_interval_has_not_passed(cluster):
    configured = options(controllers=("replicationcontroller", "replicaset"), controller_start_interval_seconds=600.0)
    manager = await assemble(
        configured, OneIdentity(cluster.client._transport, configured, clock=cluster.clock), identity="me"
    )
    started_at = cluster.clock.monotonic()
    task = asyncio.create_task(manager.run())
    await cluster.until(lambda: manager.context.informers.informers[0].has_synced)
    manager.stop()
    await cluster.until(task.done)
    task.result()
    assert cluster.clock.monotonic() - started_at < 10


@pytest.mark.parametrize(
    "configured", [{"leader_elect_resource_lock": "endpoints"}, {"leader_elect_lease_duration_seconds": 1.0}]
)
async def test_assemble_rejects_invalid_leader_election(cluster, configured):
    identities = OneIdentity(cluster.client._transport, options(), clock=cluster.clock)
    with pytest.raises(ValueError, match=r"lock type|leaseDuration"):
        await assemble(options(leader_elect=True, **configured), identities, identity="me")


async def test_missing_returns_unserved_resources(cluster):
    resources = resources_of(await discover(cluster.client))
    entry = Registration("x", needs=("apps/v1 deployments", "apps/v9 nothings"))
    assert missing(entry, resources) == ["apps/v9 nothings"]


async def test_selected_logs_controllers_that_cannot_run(cluster, caplog, monkeypatch):
    lacking = Registration("lacking-controller", "replication.replicaset", needs=("apps/v9 nothings",))
    entries = (Registration("absent-controller"), lacking, find("replicaset"))
    monkeypatch.setattr(assembly, "registered", lambda: entries)
    served = await discover(cluster.client)
    with caplog.at_level(logging.INFO):
        result = list(selected(options(controllers=("absent-controller", "lacking-controller")), resources_of(served)))
    assert result == []
    assert caplog.messages == [
        "controller absent-controller is not part of this release",
        "controller lacking-controller is skipped: the server does not serve apps/v9 nothings",
        "controller replicaset-controller is off",
    ]


async def test_assemble_skips_controllers_that_build_none(cluster):
    identities = OneIdentity(cluster.client._transport, options(), clock=cluster.clock)
    manager = await assemble(
        options(controllers=("kube-apiserver-serving-clustertrustbundle-publisher-controller",)),
        identities,
        identity="me",
    )
    assert manager._runnables == []


class Silent:
    """A server that is not there yet."""

    host = "silent"

    def __init__(self, inner, failures):
        self._inner = inner
        self._failures = failures

    async def request(self, request):
        self._failures -= 1
        if self._failures >= 0:
            raise TransportError("no route")
        return await self._inner.request(request)


async def test_wait_for_server_retries_while_the_server_starts(cluster):
    identities = OneIdentity(Silent(cluster.client._transport, 3), options(), clock=cluster.clock)
    waiting = asyncio.create_task(wait_for_server(identities.root()))
    await cluster.until(waiting.done)
    assert waiting.result().kinds


async def test_wait_for_server_gives_up_after_its_limit(cluster):
    identities = OneIdentity(Silent(cluster.client._transport, 10_000), options(), clock=cluster.clock)
    waiting = asyncio.create_task(wait_for_server(identities.root()))
    await cluster.until(waiting.done)
    with pytest.raises(RequestFailed):
        waiting.result()


async def test_wait_for_server_waits_without_limit_when_none_is_given(cluster):
    identities = OneIdentity(Silent(cluster.client._transport, 25), options(), clock=cluster.clock)
    started = cluster.clock.monotonic()
    waiting = asyncio.create_task(wait_for_server(identities.root(), seconds=None))
    await cluster.until(waiting.done)
    assert waiting.result().kinds
    assert cluster.clock.monotonic() - started > 10


class FailingGroup:
    """Transport to a server without aggregated discovery that fails the first requests for the group ``apps``."""

    host = "failing group"

    def __init__(self, inner, code, *, times):
        self._inner = inner
        self._code = code
        self._remaining = times

    async def request(self, request):
        if request.path == "/apis/apps/v1" and self._remaining > 0:
            self._remaining -= 1
            return Response(self._code, {}, b"no")
        return await self._inner.request(structs.replace(request, headers={"accept": "application/json"}))


@pytest.mark.parametrize("code", [429, 500])
async def test_wait_for_server_retries_when_discovery_of_one_group_fails(cluster, code):
    identities = OneIdentity(FailingGroup(cluster.client._transport, code, times=2), options(), clock=cluster.clock)
    waiting = asyncio.create_task(wait_for_server(identities.root()))
    await cluster.until(waiting.done)
    assert ("apps/v1", "Deployment") in waiting.result().kinds


@pytest.mark.parametrize("code", [500, 503])
async def test_wait_for_server_returns_without_a_group_that_stays_unavailable(cluster, code):
    transport = FailingGroup(cluster.client._transport, code, times=10_000)
    waiting = asyncio.create_task(wait_for_server(OneIdentity(transport, options(), clock=cluster.clock).root()))
    await cluster.until(waiting.done)
    assert ("apps/v1", "Deployment") not in waiting.result().kinds
    assert "apps/v1" in waiting.result().failed


async def test_assemble_runs_a_controller_of_an_installed_package(cluster, running, site):
    install(site, "acme", idle_controller="Idle")
    manager, identities, _ = await running(options(controllers=("idle-controller",)))
    labels = {"name": "idle-controller", "manager": "kube-controller-manager"}
    assert identities.metrics.registry.get_sample_value("running_managed_controllers", labels) == 1
    page = await manager.healthz.page({"verbose": ""})
    assert b"[+]idle-controller ok" in page.body


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("fails", "cannot be built: RuntimeError: no device"),
        ("asynchronous", "cannot be built: expected a Controller or None, got coroutine"),
        ("Missing", "cannot be loaded: AttributeError"),
    ],
)
async def test_assemble_fails_when_a_controller_of_a_package_cannot_be_built(cluster, site, target, reason):
    install(site, "acme", idle_controller=target)
    identities = OneIdentity(cluster.client._transport, options(), clock=cluster.clock)
    with pytest.raises(RegistryError) as raised:
        await assemble(options(controllers=("replicaset", "idle-controller")), identities, identity="me")
    assert "idle-controller of acme 1.0" in str(raised.value)
    assert reason in str(raised.value)


async def test_assemble_skips_a_package_controller_that_returns_none(cluster, site):
    install(site, "acme", idle_controller="nothing")
    identities = OneIdentity(cluster.client._transport, options(), clock=cluster.clock)
    manager = await assemble(options(controllers=("idle-controller",)), identities, identity="me")
    assert manager._runnables == []
