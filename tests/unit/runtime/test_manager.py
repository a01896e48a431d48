import asyncio

import pytest
from lightkube.models.core_v1 import ConfigMap, Event
from lightkube.models.meta_v1 import ObjectMeta
from tests.unit.listening import connected_to

from steersman.client.leaderelection import LeaderElector, LeaseLock
from steersman.client.resource_types import tree
from steersman.runtime.context import ControllerContext
from steersman.runtime.controller import Controller
from steersman.runtime.http import HttpServer
from steersman.runtime.manager import LeadershipLost, Manager

LEASES = tree("coordination.k8s.io/v1", "Lease")


class Noting(Controller):
    """Notes keys; records an event for each; may take its time."""

    name = "noting"
    work_seconds = 0.0

    def __init__(self, context):
        super().__init__(context)
        self.maps = self.watch(ConfigMap, namespace="default")
        self.keys, self.ended = [], []

    async def reconcile(self, key):
        self.keys.append(key)
        obj = self.maps.lister.by_key(key)
        if obj is not None:
            self.recorder.event(obj, "Normal", "Noted", "it was noted")
        await self.clock.sleep(self.work_seconds)
        self.ended.append(key)


class Slow(Noting):
    work_seconds = 20.0


class Broken(Noting):
    async def start(self):
        raise RuntimeError("cannot start")


def config_map(name):
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"))


class running:  # noqa: N801 — reads as what it is
    def __init__(self, manager):
        self.manager = manager

    async def __aenter__(self):
        self.task = asyncio.create_task(self.manager.run())
        return self.task

    async def __aexit__(self, *_):
        if not self.task.done():
            self.task.cancel()
        await asyncio.wait([self.task])


async def finished(task, until):
    await until(task.done, within_seconds=120)
    return task


async def ask(manager, path):
    async with connected_to("127.0.0.1", manager.health_port) as (reader, writer):
        writer.write(f"GET {path} HTTP/1.1\r\n\r\n".encode())
        return (await reader.read()).decode()


def elector_of(client, identity, dice):
    lock = LeaseLock(client, namespace="default", name="lead", identity=identity)
    return LeaderElector(lock, clock=client.clock, dice=dice)


async def test_controllers_run_until_stop_and_their_events_are_written(client, until):
    manager = Manager(client)
    noting = manager.add(Noting(manager.context))
    async with running(manager) as task:
        await until(lambda: manager.is_ready)
        await client.create(config_map("a"))
        await until(lambda: "default/a" in noting.keys)
        manager.stop()
        await finished(task, until)
        assert task.exception() is None
    (event,) = await client.list(Event, namespace="default")
    assert (event.reason, event.involvedObject.name, event.source.component) == ("Noted", "a", "noting")


async def test_stop_waits_for_what_runs(client, until, clock):
    manager = Manager(client)
    slow = manager.add(Slow(manager.context))
    async with running(manager) as task:
        await until(lambda: manager.is_ready)
        await client.create(config_map("a"))
        await until(lambda: slow.keys)
        manager.stop()
        assert not manager.is_ready
        await clock.advance(5)
        assert not task.done()
        await finished(task, until)
    assert slow.ended == ["default/a"]


async def test_stop_does_not_wait_for_ever(client, until, caplog):
    manager = Manager(client, shutdown_grace_seconds=3)
    slow = manager.add(Slow(manager.context))
    async with running(manager) as task:
        await until(lambda: manager.is_ready)
        await client.create(config_map("a"))
        await until(lambda: slow.keys)
        manager.stop()
        await until(task.done, within_seconds=10)
        assert task.exception() is None
    assert slow.ended == []
    assert "did not end within 3 seconds" in caplog.text


async def test_manager_keeps_an_added_context_open_until_controllers_have_ended(client, until):
    manager = Manager(client)
    context = ControllerContext(client)
    slow = manager.add(Slow(context))
    manager.add_context(context)
    async with running(manager) as task:
        await until(lambda: manager.is_ready)
        await client.create(config_map("a"))
        await until(lambda: slow.keys)
        manager.stop()
        await client.create(config_map("b"))
        await until(lambda: slow.maps.lister.by_key("default/b") is not None)
        await finished(task, until)
    assert slow.ended == ["default/a"]
    (event,) = await client.list(Event, namespace="default")
    assert event.reason == "Noted"


async def test_failed_controller_ends_the_manager_with_its_error(client, until):
    manager = Manager(client)
    noting = manager.add(Noting(manager.context))
    manager.add(Broken(manager.context))
    async with running(manager) as task:
        await finished(task, until)
    with pytest.raises(ExceptionGroup) as caught:
        task.result()
    assert [str(error) for error in caught.value.exceptions] == ["cannot start"]
    assert not noting.is_ready


async def test_cancelling_ends_everything(client, until):
    manager = Manager(client)
    noting = manager.add(Noting(manager.context))
    async with running(manager) as task:
        await until(lambda: noting.is_ready)
        task.cancel()
        await finished(task, until)
    assert task.cancelled()
    assert not noting.is_ready


async def test_manager_serves_health_and_metrics(client, until):
    manager = Manager(client, health_port=0)
    manager.add(Noting(manager.context))
    async with running(manager):
        await until(lambda: manager.is_ready)
        assert (await ask(manager, "/healthz")).endswith("\r\n\r\nok")
        assert "[+]controllers ok" in await ask(manager, "/readyz?verbose")
        assert "[+]ping ok" in await ask(manager, "/livez?verbose")
        assert 'workqueue_depth{name="noting"} 0.0' in await ask(manager, "/metrics")


async def test_manager_is_ready_with_its_controllers(client):
    manager = Manager(client, health_port=0)
    manager.add(Noting(manager.context))
    page = await manager.readyz.page({})
    assert (page.status, b"[-]controllers failed" in page.body) == (500, True)


def test_manager_without_health_port_has_no_listener(client):
    with pytest.raises(RuntimeError, match="no pages"):
        _ = Manager(client).health_port


async def test_controllers_run_while_it_leads_and_the_next_leads_at_once_after_a_stop(client, until, dice, clock):
    first = Manager(client, elector=elector_of(client, "first", dice))
    second = Manager(client, elector=elector_of(client, "second", dice))
    one, two = first.add(Noting(first.context)), second.add(Noting(second.context))
    async with running(first) as leading:
        await until(lambda: one.is_ready)
        async with running(second):
            await clock.advance(10)
            assert second.is_ready  # it waits for its turn, and that is well
            assert not two.is_ready
            first.stop()
            await finished(leading, until)
            await until(lambda: two.is_ready, within_seconds=1)
    assert leading.exception() is None


async def test_background_work_runs_without_leadership(client, until, dice):
    holder = elector_of(client, "holder", dice)
    forever = asyncio.Event()
    held = asyncio.create_task(holder.run(forever.wait))
    await until(lambda: holder.is_leader)
    manager, log = Manager(client, elector=elector_of(client, "standby", dice)), []

    async def beat():
        log.append("began")
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            log.append("ended")

    manager.add_background("beat", beat)
    async with running(manager) as task:
        await until(lambda: log)
        manager.stop()
        await finished(task, until)
    assert log == ["began", "ended"]
    forever.set()
    await finished(held, until)


async def test_manager_of_background_work_alone_runs_until_stop(client, until, clock):
    manager = Manager(client)
    started = asyncio.Event()

    async def work():
        started.set()
        await asyncio.Event().wait()

    manager.add_background("work", work)
    async with running(manager) as task:
        await until(started.is_set)
        await clock.advance(60)
        assert not task.done()
        manager.stop()
        await task


async def test_failed_background_work_ends_the_manager(client, until):
    async def broken():
        raise RuntimeError("no heartbeat")

    manager = Manager(client)
    manager.add(Noting(manager.context))
    manager.add_background("beat", broken)
    async with running(manager) as task:
        await finished(task, until)
    assert str(task.exception()) == "no heartbeat"


async def test_manager_raises_leadership_lost(client, until, dice, clock):
    manager = Manager(client, elector=elector_of(client, "first", dice))
    noting = manager.add(Noting(manager.context))
    async with running(manager) as task:
        await until(lambda: noting.is_ready)
        lease = await client.get(LEASES, "lead", namespace="default")
        lease["spec"]["holderIdentity"] = "usurper"
        await client.update(lease)
        await finished(task, until)
    assert isinstance(task.exception(), LeadershipLost)


async def test_stuck_leader_is_unhealthy(client, until, dice, clock, monkeypatch):
    manager = Manager(client, elector=elector_of(client, "first", dice), health_port=0)
    monkeypatch.setattr(LeaderElector, "unhealthy_reason", lambda self: "failed election to renew leadership")
    page = await manager.healthz.page({})
    assert (page.status, b"[-]leaderElection failed" in page.body) == (500, True)


async def test_standby_syncs_caches_before_it_leads(client, until, dice):
    holder = elector_of(client, "holder", dice)
    forever = asyncio.Event()
    held = asyncio.create_task(holder.run(forever.wait))
    await until(lambda: holder.is_leader)
    manager = Manager(client, elector=elector_of(client, "standby", dice), warm_standby=True)
    noting = manager.add(Noting(manager.context))
    async with running(manager):
        await until(lambda: noting.maps.has_synced)
        assert not noting.is_ready
    forever.set()
    await finished(held, until)


async def test_leadership_is_reported_under_the_name_of_the_lease(client, until, dice):
    manager = Manager(client, elector=lambda context: elector_of(context.client, "first", dice))
    manager.add(Noting(manager.context))
    status = {"name": "lead"}
    async with running(manager):
        await until(
            lambda: manager.context.metrics.registry.get_sample_value("leader_election_master_status", status) == 1
        )


async def test_another_server_serves_the_same_pages(client, until, clock):
    manager = Manager(client)
    manager.add(Noting(manager.context))
    server = HttpServer(host="127.0.0.1", clock=clock)
    manager.add_server(server)
    async with running(manager):
        await until(lambda: manager.is_ready)
        assert server.paths == ["/healthz", "/livez", "/metrics", "/metrics/slis", "/readyz"]
        assert server.port
    assert server.port == 0
