from datetime import UTC, datetime

import pytest
from lightkube.models.core_v1 import ConfigMap, Pod

from steersman.apimachinery.errors import is_conflict
from steersman.client import tree
from steersman.client.errors import ApiError
from steersman.client.objects import split_key
from steersman.controllers.shared.base import ManagedController


class Beside(ManagedController):
    name = "beside"
    component = "somebody"

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
    shell = await cluster.start(Beside)
    await cluster.until(lambda: shell.worked)


async def test_events_have_the_component_as_source(cluster):
    shell = await cluster.start(Beside)
    shell.queue.add("x")
    events = await cluster.until(lambda: cluster.events("Seen"))
    assert events[0]["source"] == {"component": "somebody"}


@pytest.mark.parametrize("seconds", [0, 0.7])
async def test_now_is_in_whole_seconds(cluster, clock, seconds):
    shell = await cluster.start(Beside)
    await clock.advance(seconds)
    assert shell.now() == datetime.fromtimestamp(int(clock.now().timestamp()), UTC)


class Resynced(ManagedController):
    name = "resynced"

    def __init__(self, context, period_seconds):
        super().__init__(context)
        self.reconciled = []
        self.resync_every(period_seconds, lambda: ["a", "b"])

    async def reconcile(self, key):
        self.reconciled.append(key)


async def test_resync_enqueues_all_keys_after_every_period(cluster, clock):
    shell = await cluster.start(lambda context: Resynced(context, 300.0))
    for times in (1, 2, 3):
        await cluster.until(lambda times=times: len(shell.reconciled) == 2 * times, within_seconds=301)
        assert sorted(shell.reconciled) == sorted(["a", "b"] * times)
        await clock.advance(290)
        assert len(shell.reconciled) == 2 * times


async def test_resync_period_of_zero_means_never(cluster, clock):
    shell = await cluster.start(lambda context: Resynced(context, 0.0))
    await clock.advance(3600)
    assert shell.reconciled == []


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
    shell = await cluster.start(ResyncsMaps)
    await clock.advance(3600)
    assert (shell.reconciled, shell.looks) == ([], 1)
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}
    await cluster.client.create(config_map)
    await cluster.until(lambda: shell.reconciled == ["a"], within_seconds=10)
    await cluster.until(lambda: shell.reconciled == ["a", "a"], within_seconds=301)


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
    shell = await cluster.start(Creating)
    shell.queue.add("x")
    await clock.advance(1)
    assert shell.looks == 1
    await clock.advance(60)
    assert shell.looks == 2
    assert shell.maps.lister.get("x", namespace="default")


async def make_map(cluster, **data):
    return await cluster.make("v1", "ConfigMap", "m", namespace="default", data=data)


async def test_delete_seen_deletes_by_uid_and_ignores_missing_objects(cluster):
    shell, seen = await cluster.start(Beside), await make_map(cluster)
    await shell.delete_seen(seen)
    assert await cluster.find("v1", "ConfigMap", "m", namespace="default") is None
    await shell.delete_seen(seen)


@pytest.mark.parametrize("unchanged", [True, False])
@pytest.mark.parametrize("typed", [True, False])
async def test_delete_seen_returns_when_another_object_has_the_name(cluster, unchanged, typed):
    shell, seen = await cluster.start(Beside), await make_map(cluster)
    if typed:
        seen = await cluster.client.get(ConfigMap, "m", namespace="default")
    await cluster.client.delete_object(seen)
    other = await make_map(cluster)
    await shell.delete_seen(seen, unchanged=unchanged)
    live = await cluster.find("v1", "ConfigMap", "m", namespace="default")
    assert live["metadata"]["uid"] == other["metadata"]["uid"]


async def test_delete_seen_raises_a_conflict_while_the_object_exists(cluster, conflicts):
    shell, seen = await cluster.start(Beside), await make_map(cluster)
    conflicts.add("DELETE", "/configmaps/m")
    with pytest.raises(ApiError) as raised:
        await shell.delete_seen(seen)
    assert is_conflict(raised.value)
    await shell.delete_seen(seen)
    assert await cluster.find("v1", "ConfigMap", "m", namespace="default") is None


async def test_delete_seen_returns_when_the_object_is_deleted_after_a_conflict(cluster, conflicts):
    shell, seen = await cluster.start(Beside), await make_map(cluster)
    await cluster.client.delete_object(seen)
    conflicts.add("DELETE", "/configmaps/m")
    await shell.delete_seen(seen)


async def test_delete_seen_raises_when_the_read_after_a_conflict_fails(cluster, conflicts):
    shell, seen = await cluster.start(Beside), await make_map(cluster)
    conflicts.add("DELETE", "/configmaps/m")
    conflicts.add("GET", "/configmaps/m")
    with pytest.raises(ApiError, match="refused"):
        await shell.delete_seen(seen)


async def test_delete_seen_checks_the_version_only_when_unchanged_is_set(cluster):
    shell, seen = await cluster.start(Beside), await make_map(cluster)
    await cluster.client.update({**seen, "data": {"changed": "yes"}})
    with pytest.raises(ApiError) as raised:
        await shell.delete_seen(seen, unchanged=True)
    assert is_conflict(raised.value)
    await shell.delete_seen(seen)
    assert await cluster.find("v1", "ConfigMap", "m", namespace="default") is None


async def test_patch_pod_status_keeps_other_conditions(cluster, pod_spec):
    shell = await cluster.start(Beside)
    condition = {"type": "Said", "status": "True"}
    await cluster.make("v1", "Pod", "p", namespace="default", spec=pod_spec, status={"conditions": [condition]})
    pod = await cluster.client.get(Pod, "p", namespace="default")
    written = await shell.patch_pod_status(pod, {"status": {"conditions": [{"type": "More", "status": "True"}]}})
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
    shell = await cluster.start(CreatesMaps)
    shell.queue.add("ending/m")
    await clock.advance(60)
    (error,) = shell.errors
    assert "because it is being terminated" in error
    assert shell.queue.num_requeues("ending/m") == 0


async def test_reconcile_is_retried_after_other_errors_of_a_create(cluster, clock):
    shell = await cluster.start(CreatesMaps)
    shell.queue.add("absent/m")
    await clock.advance(1)
    assert len(shell.errors) > 1
    assert "not found" in shell.errors[0]
