"""Log of reconciles, with a real controller over a server in this process."""

import asyncio
import logging

import pytest
from lightkube.models.core_v1 import ConfigMap
from lightkube.models.meta_v1 import ObjectMeta

from steersman.asynckit.clock import FakeClock
from steersman.asynckit.structured_logging import V2, fields_of
from steersman.client.causes import caused_by
from steersman.client.objects import split_key
from steersman.client.workqueue import WorkQueue
from steersman.client.workqueue.metrics import NoMetrics
from steersman.runtime.controller import Controller
from steersman.runtime.reconcile_log import TracedWorkQueue, make_queue
from steersman.runtime.result import Result


class Labeler(Controller):
    """Creates ``<name>-copy`` of a ConfigMap; fails, or asks to be called again, if its data says so."""

    name = "labeler"

    def __init__(self, context):
        super().__init__(context)
        self.maps = self.watch(ConfigMap, when=lambda change: change.latest.metadata.name.startswith("source"))
        self.every(3600.0, self.sweep, name="sweep")

    async def sweep(self):
        await self.client.create(config_map("swept"))

    async def reconcile(self, key):
        namespace, name = split_key(key)
        source = self.maps.lister.get(name, namespace=namespace)
        if source is None:
            return None
        if source.data["do"] == "fail":
            raise RuntimeError("broken")
        if source.data["do"] == "wait":
            return Result(requeue_after_seconds=90)
        await asyncio.gather(*(self.client.create(config_map(f"{name}-{number}")) for number in range(2)))
        return None


def config_map(name, do=""):
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"), data={"do": do})


@pytest.fixture
async def reconciles(context, until, caplog):
    """Run the controller on ConfigMaps, and return the pairs that were logged for one key."""
    tasks, controllers = [], []

    async def run(*maps, lines=1, key="default/source", within_seconds=30):
        caplog.set_level(V2)
        controller = Labeler(context)
        context.informers.start()
        controllers.append(controller)
        tasks.append(asyncio.create_task(controller.run()))
        await until(lambda: controller.is_ready)
        for item in maps:
            await context.client.create(item)

        def logged_fields():
            logged = [fields_of(record) for record in caplog.records]
            return [fields for fields in logged if fields is not None and fields["key"] == key]

        await until(lambda: len(logged_fields()) >= lines, within_seconds=within_seconds)
        return logged_fields()

    yield run
    for controller in controllers:
        controller.stop()
    for task in tasks:
        await task


async def test_reconcile_line_has_controller_key_cause_writes_and_duration(reconciles):
    (line,) = await reconciles(config_map("source"))
    assert line == {
        "controller": "labeler",
        "key": "default/source",
        "cause": "ConfigMap default/source added",
        "actions": "created configmaps x2",
        "result": "success",
        "duration": "0s",
    }


async def test_reconcile_line_of_a_failure_has_error_and_retry(reconciles):
    first, second, third = (await reconciles(config_map("source", "fail"), lines=3))[:3]
    assert (first["result"], first["err"], first["actions"]) == ("error", "broken", "nothing")
    assert [line["cause"] for line in (second, third)] == ["retry 1", "retry 2"]


async def test_reconcile_line_has_the_requeue_time(reconciles):
    first, second = await reconciles(config_map("source", "wait"), lines=2, within_seconds=100)
    assert (first["result"], first["requeueAfter"]) == ("requeue_after", "1m30s")
    assert second["cause"] == "requeued after 1m30s"


async def test_periodic_work_is_logged(reconciles):
    (line,) = await reconciles(key="sweep")
    assert (line["controller"], line["cause"], line["actions"]) == ("labeler", "periodic", "created configmaps")


def test_queue_is_a_plain_one_when_reconciles_are_not_logged(caplog):
    log = logging.getLogger("test")
    caplog.set_level(logging.INFO)
    assert type(make_queue(log, "a", clock=FakeClock(), rate_limiter=None, metrics=NoMetrics())) is WorkQueue
    caplog.set_level(V2)
    assert type(make_queue(log, "a", clock=FakeClock(), rate_limiter=None, metrics=NoMetrics())) is TracedWorkQueue


async def test_queue_counts_causes_that_are_merged():
    queue = TracedWorkQueue("test", clock=FakeClock())
    for cause in ("Pod a added", "Pod a added", "Pod b added", "Pod c added"):
        with caused_by(cause):
            queue.add("key")
    await queue.get()
    assert queue.take_cause("key") == "Pod a added (and 2 more)"
    assert queue.take_cause("key") == "queued by the controller"


async def test_queue_keeps_the_cause_of_delayed_keys_from_other_causes():
    clock = FakeClock()
    queue = TracedWorkQueue("test", clock=clock)
    with caused_by("Pod a added"):
        queue.add_after("key", 5)
        queue.add_after("other", 1)
    queue.add_after("later", 90)
    await clock.advance(90)
    causes = {}
    for _ in range(3):
        key = await queue.get()
        causes[key] = queue.take_cause(key)
    assert causes == {"key": "Pod a added", "other": "Pod a added", "later": "requeued after 1m30s"}
