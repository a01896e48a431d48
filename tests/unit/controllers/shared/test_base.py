from datetime import UTC, datetime

import pytest
from lightkube.models.core_v1 import ConfigMap, Pod

from steersman.apimachinery.errors import is_conflict
from steersman.client import tree
from steersman.client.errors import ApiError
from steersman.client.objects import split_key
from steersman.controllers.shared.base import CREATED_RECHECK_SECONDS, ManagedController


class WithBackgroundTask(ManagedController):
    name = "with-background-task"
    component = "some-component"

    def __init__(self, context):
        super().__init__(context)
        self.worked = False

    async def reconcile(self, key):
        self.events.event({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": key, "namespace": "default"}},
                          "Normal", "Seen", "it was seen")  # fmt: skip

    def background_tasks(self):
        return {"work": self._work()}

    async def _work(self):
        self.worked = True
        await self.clock.sleep(3600)


async def test_background_tasks_run_and_end_with_the_controller(cluster):
    controller = await cluster.start(WithBackgroundTask)
    await cluster.until(lambda: controller.worked)


async def test_events_have_the_component_as_source(cluster):
    controller = await cluster.start(WithBackgroundTask)
    controller.queue.add("x")
    events = await cluster.until(lambda: cluster.events("Seen"))
    assert events[0]["source"] == {"component": "some-component"}


@pytest.mark.parametrize("seconds", [0, 0.7])
async def test_now_is_in_whole_seconds(cluster, clock, seconds):
    controller = await cluster.start(WithBackgroundTask)
    await clock.advance(seconds)
    assert controller.now() == datetime.fromtimestamp(int(clock.now().timestamp()), UTC)


class Resynced(ManagedController):
    name = "resynced"

    def __init__(self, context, period_seconds):
        super().__init__(context)
        self.reconciled = []
        self.resync_every(period_seconds, lambda: ["a", "b"])

    async def reconcile(self, key):
        self.reconciled.append(key)


async def test_resync_enqueues_all_keys_after_every_period(cluster, clock):
    controller = await cluster.start(lambda context: Resynced(context, 300.0))
    for times in (1, 2, 3):
        await cluster.until(lambda times=times: len(controller.reconciled) == 2 * times, within_seconds=301)
        assert sorted(controller.reconciled) == sorted(["a", "b"] * times)
        await clock.advance(290)
        assert len(controller.reconciled) == 2 * times


async def test_resync_period_of_zero_means_never(cluster, clock):
    controller = await cluster.start(lambda context: Resynced(context, 0.0))
    await clock.advance(3600)
    assert controller.reconciled == []


class Failing(ManagedController):
    name = "failing"
    backoff_seconds_first = 4.0

    def __init__(self, context):
        super().__init__(context)
        self.times = []

    async def reconcile(self, key):
        self.times.append(self.clock.monotonic())
        raise ValueError(key)


async def test_first_backoff_doubles(cluster, clock):
    controller = await cluster.start(Failing)
    controller.queue.add("x")
    await cluster.until(lambda: len(controller.times) == 3, within_seconds=13)
    first, second, third = controller.times
    assert (second - first, third - second) == (pytest.approx(4, abs=0.5), pytest.approx(8, abs=0.5))


class ResyncsMaps(Resynced):
    name = "resyncs-maps"

    def __init__(self, context):
        ManagedController.__init__(self, context)
        self.reconciled = []
        self.maps = self.informer(tree("v1", "ConfigMap"), namespace="default")
        self.looks = 0
        self.resync_every(300.0, self._keys)

    def _keys(self):
        self.looks += 1
        return [item["metadata"]["name"] for item in self.maps.lister]


async def test_resync_begins_with_the_first_key(cluster, clock):
    controller = await cluster.start(ResyncsMaps)
    await clock.advance(3600)
    assert (controller.reconciled, controller.looks) == ([], 1)
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}
    await cluster.client.create(config_map)
    await cluster.until(lambda: controller.reconciled == ["a"], within_seconds=10)
    await cluster.until(lambda: controller.reconciled == ["a", "a"], within_seconds=301)


class Creating(ManagedController):
    name = "creating"

    def __init__(self, context):
        super().__init__(context)
        self.maps = self.informer(tree("v1", "ConfigMap"))
        self.looks = 0

    async def reconcile(self, key):
        self.looks += 1
        if self.looks == 1:
            config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": key, "namespace": "default"}}
            self.record_created(key, self.maps, await self.client.create(config_map))


async def test_record_created_requeues_the_key(cluster, clock):
    controller = await cluster.start(Creating)
    controller.queue.add("x")
    await clock.advance(1)
    assert controller.looks == 1
    await clock.advance(60)
    assert controller.looks == 2
    assert controller.maps.lister.get("x", namespace="default")


async def make_map(cluster, **data):
    return await cluster.make("v1", "ConfigMap", "m", namespace="default", data=data)


async def test_delete_seen_deletes_by_uid_and_ignores_missing_objects(cluster):
    controller, seen = await cluster.start(WithBackgroundTask), await make_map(cluster)
    await controller.delete_seen(seen)
    assert await cluster.find("v1", "ConfigMap", "m", namespace="default") is None
    await controller.delete_seen(seen)


@pytest.mark.parametrize("unchanged", [True, False])
@pytest.mark.parametrize("typed", [True, False])
async def test_delete_seen_returns_when_another_object_has_the_name(cluster, unchanged, typed):
    controller, seen = await cluster.start(WithBackgroundTask), await make_map(cluster)
    if typed:
        seen = await cluster.client.get(ConfigMap, "m", namespace="default")
    await cluster.client.delete_object(seen)
    other = await make_map(cluster)
    await controller.delete_seen(seen, unchanged=unchanged)
    live = await cluster.find("v1", "ConfigMap", "m", namespace="default")
    assert live["metadata"]["uid"] == other["metadata"]["uid"]


async def test_delete_seen_raises_a_conflict_while_the_object_exists(cluster, conflicts):
    controller, seen = await cluster.start(WithBackgroundTask), await make_map(cluster)
    conflicts.add("DELETE", "/configmaps/m")
    with pytest.raises(ApiError) as raised:
        await controller.delete_seen(seen)
    assert is_conflict(raised.value)
    await controller.delete_seen(seen)
    assert await cluster.find("v1", "ConfigMap", "m", namespace="default") is None


async def test_delete_seen_returns_when_the_object_is_deleted_after_a_conflict(cluster, conflicts):
    controller, seen = await cluster.start(WithBackgroundTask), await make_map(cluster)
    await cluster.client.delete_object(seen)
    conflicts.add("DELETE", "/configmaps/m")
    await controller.delete_seen(seen)


async def test_delete_seen_raises_when_the_read_after_a_conflict_fails(cluster, conflicts):
    controller, seen = await cluster.start(WithBackgroundTask), await make_map(cluster)
    conflicts.add("DELETE", "/configmaps/m")
    conflicts.add("GET", "/configmaps/m")
    with pytest.raises(ApiError, match="refused"):
        await controller.delete_seen(seen)


async def test_delete_seen_checks_the_version_only_when_unchanged_is_set(cluster):
    controller, seen = await cluster.start(WithBackgroundTask), await make_map(cluster)
    await cluster.client.update({**seen, "data": {"changed": "yes"}})
    with pytest.raises(ApiError) as raised:
        await controller.delete_seen(seen, unchanged=True)
    assert is_conflict(raised.value)
    await controller.delete_seen(seen)
    assert await cluster.find("v1", "ConfigMap", "m", namespace="default") is None


async def test_patch_pod_status_keeps_other_conditions(cluster, pod_spec):
    controller = await cluster.start(WithBackgroundTask)
    condition = {"type": "Said", "status": "True"}
    await cluster.make("v1", "Pod", "p", namespace="default", spec=pod_spec, status={"conditions": [condition]})
    pod = await cluster.client.get(Pod, "p", namespace="default")
    written = await controller.patch_pod_status(pod, {"status": {"conditions": [{"type": "More", "status": "True"}]}})
    assert {row.type for row in written.status.conditions} == {"Said", "More"}


class CreatesMaps(ManagedController):
    name = "creates-maps"

    def __init__(self, context):
        super().__init__(context)
        self.errors = []

    async def reconcile(self, key):
        namespace, name = split_key(key)
        try:
            await self.client.create(
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}}
            )
        except ApiError as error:
            self.errors.append(str(error))
            raise


async def test_reconcile_is_done_when_the_namespace_is_terminating(cluster, clock):
    ending = await cluster.make("v1", "Namespace", "ending")
    await cluster.client.delete_object(ending)
    controller = await cluster.start(CreatesMaps)
    controller.queue.add("ending/m")
    await clock.advance(60)
    (error,) = controller.errors
    assert "because it is being terminated" in error
    assert controller.queue.num_requeues("ending/m") == 0


async def test_reconcile_is_retried_after_other_errors_of_a_create(cluster, clock):
    controller = await cluster.start(CreatesMaps)
    controller.queue.add("absent/m")
    await clock.advance(1)
    assert len(controller.errors) > 1
    assert "not found" in controller.errors[0]


class EnsuresMaps(Resynced):
    name = "ensures-maps"

    def __init__(self, context):
        super().__init__(context, 0.0)
        self.maps = self.informer(ConfigMap)


def config_map(namespace="default"):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": namespace}}


@pytest.mark.parametrize("exists", [False, True])
async def test_create_unless_exists_creates_and_requeues(cluster, clock, exists):
    if exists:
        await cluster.client.create(config_map())
    controller = await cluster.start(EnsuresMaps)
    await controller.create_unless_exists("k", controller.maps, config_map())
    assert await cluster.client.get(ConfigMap, "a", namespace="default")
    await clock.advance(CREATED_RECHECK_SECONDS)
    assert controller.reconciled == ["k"]


async def test_create_unless_exists_ignores_an_absent_namespace(cluster, clock):
    controller = await cluster.start(EnsuresMaps)
    await controller.create_unless_exists("k", controller.maps, config_map("absent"))
    await clock.advance(CREATED_RECHECK_SECONDS)
    assert controller.reconciled == []
