import asyncio
import logging

import pytest
from lightkube.models.core_v1 import ConfigMap
from lightkube.models.meta_v1 import ObjectMeta

from steersman.asynckit.clock import RealClock
from steersman.client.objects import split_key
from steersman.client.resource_types import tree
from steersman.runtime.controller import LOW_PRIORITY, Controller
from steersman.runtime.owners import controller_of
from steersman.runtime.result import Result, TerminalError


class Copier(Controller):
    """Copies each ConfigMap labelled ``copy`` into one named ``<name>-copy``."""

    name = "copier"

    def __init__(self, context, **options):
        super().__init__(context, **options)
        self.maps = self.watch(ConfigMap, when=lambda change: not change.latest.metadata.name.endswith("-copy"))
        self.keys = []

    async def reconcile(self, key):
        self.keys.append(key)
        namespace, name = split_key(key)
        source = self.maps.lister.get(name, namespace=namespace)
        if source is None or "copy" not in (source.metadata.labels or {}):
            return
        if self.maps.lister.get(f"{name}-copy", namespace=namespace) is None:
            copy = ConfigMap(metadata=ObjectMeta(name=f"{name}-copy", namespace=namespace), data=source.data)
            self.own_writes.note(key, self.maps, await self.client.create(copy))


class Scripted(Controller):
    """Its reconcile does what the script says next."""

    name = "scripted"
    retries_max = 3
    reconcile_timeout_seconds = 60.0

    def __init__(self, context, *script, **options):
        super().__init__(context, **options)
        self.script = list(script)
        self.calls = []

    async def reconcile(self, key):
        self.calls.append((key, self.clock.monotonic()))
        step = self.script.pop(0) if self.script else None
        if isinstance(step, Exception):
            raise step
        return await step() if callable(step) else step


def config_map(name, **metadata):
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default", **metadata), data={"a": "b"})


class running:  # noqa: N801 — reads as what it is
    """Starts informers and the controller; stops it at the end."""

    def __init__(self, controller):
        self.controller = controller

    async def __aenter__(self):
        self.controller.context.informers.start()
        self.task = asyncio.create_task(self.controller.run())
        return self.task

    async def __aexit__(self, *_):
        self.controller.stop()
        await asyncio.wait([self.task])
        if not self.task.cancelled():
            self.task.result()


async def test_changes_reach_reconcile_and_writes_reach_the_server(context, client, until):
    await client.create(config_map("before", labels={"copy": ""}))
    copier = Copier(context)
    async with running(copier):
        await until(lambda: copier.is_ready)
        await client.create(config_map("after", labels={"copy": ""}))
        await until(
            lambda: copier.maps.lister.by_key("default/before-copy") and copier.maps.lister.by_key("default/after-copy")
        )
    assert (await client.get(ConfigMap, "before-copy", namespace="default")).data == {"a": "b"}


async def test_reconcile_waits_for_its_own_last_write(context, client, until):
    copier = Copier(context)
    async with running(copier):
        await until(lambda: copier.is_ready)
        created = []
        create = client.create
        client.create = lambda obj, **options: (created.append(obj.metadata.name), create(obj, **options))[1]
        await create(config_map("a", labels={"copy": ""}))
        await until(lambda: created)
        copier.queue.add("default/a")  # at once, before the informer can have heard of the copy
        seen = len(copier.keys)
        await until(lambda: len(copier.keys) > seen)
    assert created == ["a-copy"]


async def test_failed_reconcile_is_logged_counted_and_retried_with_backoff(context, clock, caplog):
    scripted = Scripted(context, RuntimeError("broken"), RuntimeError("broken"))
    async with running(scripted):
        scripted.queue.add("a")
        await clock.advance(1)
    assert [at for _, at in scripted.calls] == pytest.approx([0, 0.005, 0.015])
    assert "scripted: reconciling a failed, will be tried again" in caplog.text
    assert "RuntimeError: broken" in caplog.text
    value = context.metrics.registry.get_sample_value
    assert value("controller_runtime_reconcile_errors_total", {"controller": "scripted"}) == 2
    assert value("controller_runtime_reconcile_total", {"controller": "scripted", "result": "success"}) == 1


async def test_successful_reconcile_resets_the_backoff(context, clock):
    scripted = Scripted(context, RuntimeError(), None, RuntimeError())
    async with running(scripted):
        scripted.queue.add("a")
        await clock.advance(1)
        scripted.queue.add("a")
        await clock.advance(1)
    assert [at for _, at in scripted.calls] == pytest.approx([0, 0.005, 1, 1.005])


async def test_terminal_error_is_not_retried(context, clock, caplog):
    scripted = Scripted(context, TerminalError("never"))
    async with running(scripted):
        scripted.queue.add("a")
        await clock.advance(2000)
    assert len(scripted.calls) == 1
    assert "will not be tried again" in caplog.text


async def test_reconcile_is_given_up_after_retries_max(context, clock):
    scripted = Scripted(context, *[RuntimeError()] * 10)
    async with running(scripted):
        scripted.queue.add("a")
        await clock.advance(2000)
    assert len(scripted.calls) == 1 + 3


async def test_result_requeues_the_key(context, clock):
    scripted = Scripted(context, Result(requeue_after_seconds=30), Result(requeue=True), Result())
    async with running(scripted):
        scripted.queue.add("a")
        await clock.advance(100)
    assert [at for _, at in scripted.calls] == pytest.approx([0, 30, 30.005])


async def test_reconcile_timeout_cancels_and_retries(context, clock, caplog):
    async def forever():
        await asyncio.get_running_loop().create_future()

    scripted = Scripted(context, forever)
    async with running(scripted):
        scripted.queue.add("a")
        await clock.advance(61)
    assert [at for _, at in scripted.calls] == pytest.approx([0, 60.005])
    assert "TimeoutError" in caplog.text


async def test_stop_lets_a_running_reconcile_end_and_begins_no_other(context, clock):
    async def slow():
        await clock.sleep(10)
        done.append(True)

    done = []
    scripted = Scripted(context, slow)
    async with running(scripted) as task:
        scripted.queue.add("a")
        scripted.queue.add("b")
        await clock.advance(1)
        scripted.stop()
        await clock.advance(5)
        assert not task.done()
        await clock.advance(5)
    assert done == [True]
    assert [key for key, _ in scripted.calls] == ["a"]


async def test_cancelling_ends_a_running_reconcile(context, clock):
    ended = []

    async def forever():
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.append(True)

    scripted = Scripted(context, forever)
    async with running(scripted) as task:
        scripted.queue.add("a")
        await clock.advance(1)
        task.cancel()
    assert ended == [True]
    assert task.cancelled()


async def test_keys_of_owners_are_queued_for_old_and_new(context, client, until):
    def owner_key(obj):
        owner = controller_of(obj)
        return () if owner is None else (f"{obj['metadata']['namespace']}/{owner.name}",)

    def owned_by(name):
        return [{"apiVersion": "v1", "kind": "Node", "name": name, "uid": f"u-{name}", "controller": True}]

    scripted = Scripted(context)
    scripted.watch(tree("v1", "ConfigMap"), keys=owner_key)
    async with running(scripted):
        await until(lambda: scripted.is_ready)
        obj = {"apiVersion": "v1", "kind": "ConfigMap"}
        metadata = {"name": "a", "namespace": "default", "ownerReferences": owned_by("one")}
        created = await client.create(obj | {"metadata": metadata})
        await until(lambda: scripted.calls)
        created["metadata"]["ownerReferences"] = owned_by("two")
        await client.update(created)
        await until(lambda: len(scripted.calls) == 3)
    assert sorted(key for key, _ in scripted.calls) == ["default/one", "default/one", "default/two"]


async def test_first_lists_and_resyncs_wait_behind_changes(context, client, until):
    await client.create(config_map("old"))
    scripted = Scripted(context)
    scripted.watch(ConfigMap, namespace="default")
    added = []
    add = scripted.queue.add
    scripted.queue.add = lambda key, *, priority=0: (added.append((key, priority)), add(key, priority=priority))
    async with running(scripted):
        await until(lambda: scripted.is_ready)
        await client.create(config_map("new"))
        await until(lambda: len(added) == 2)
    assert added == [("default/old", LOW_PRIORITY), ("default/new", 0)]


async def test_objects_can_be_queued_by_hand(context, clock):
    scripted = Scripted(context)
    async with running(scripted):
        scripted.enqueue(config_map("a"))
        scripted.enqueue_after(config_map("b"), 5)
        await clock.advance(10)
    assert scripted.calls == [("default/a", 0), ("default/b", 5)]


async def test_added_queue_has_separate_workers(context, clock):
    handled = []

    async def orphan(key):
        handled.append(key)

    scripted = Scripted(context)
    orphans = scripted.add_queue("orphans", orphan, workers=2)
    async with running(scripted):
        orphans.add(("pods", "a"))
        await clock.advance(1)
    assert handled == [("pods", "a")]
    value = context.metrics.registry.get_sample_value
    assert value("controller_runtime_max_concurrent_reconciles", {"controller": "orphans"}) == 2


async def test_periodic_work_runs_while_the_controller_does(context, clock):
    at = []

    async def look():
        at.append(clock.monotonic())

    scripted = Scripted(context)
    scripted.every(5, look)
    async with running(scripted):
        await clock.advance(12)
    await clock.advance(100)
    assert at == [0, 5, 10]


async def test_lost_races_and_refusals_need_no_traceback(context, clock, caplog, client):
    async def conflict():
        created = await client.create(config_map("a"))
        await client.update(config_map("a", labels={"x": "y"}))
        return await client.update(created)

    async def missing():
        return await client.get(ConfigMap, "missing", namespace="default")

    caplog.set_level(logging.INFO)
    scripted = Scripted(context, conflict, missing)
    async with running(scripted):
        scripted.queue.add("a")
        await clock.advance(1)
    levels = [record.levelname for record in caplog.records if "will be tried again" in record.message]
    assert levels == ["INFO", "WARNING"]
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize("turns", [0, 3])
async def test_controller_run_returns_when_stopped_before_its_caches_are_synced(context, turns):
    copier = Copier(context)
    task = asyncio.ensure_future(copier.run())  # the informers are never started
    for _ in range(turns):
        await RealClock().sleep(0)
    copier.stop()
    await task
    assert not copier.is_ready


async def test_queue_has_its_own_name_in_metrics(context):
    class Renamed(Scripted):
        queue_name = "upstreams"

    assert Renamed(context, []).queue.name == "scripted"
    registry = context.metrics.registry
    assert registry.get_sample_value("workqueue_depth", {"name": "upstreams"}) == 0
    assert registry.get_sample_value("workqueue_depth", {"name": "scripted"}) is None
