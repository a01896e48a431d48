"""Writing Pods for a controller."""

from __future__ import annotations

import pytest
from lightkube.models.core_v1 import Pod

from steersman.apimachinery.errors import conflict, is_conflict, not_found
from steersman.client import tree
from steersman.client.objects import name_of, uid_of
from steersman.controllers.shared.base import ManagedController
from steersman.controllers.shared.pod_control import PodControl


class Owner(ManagedController):
    """Does nothing by itself."""

    name = "owner"

    def __init__(self, context):
        super().__init__(context)
        self.pods = self.informer(Pod)
        self.control = PodControl(self, self.pods)

    async def reconcile(self, key):
        return None


@pytest.fixture
async def owner(cluster):
    return await cluster.start(Owner)


@pytest.fixture
async def config(cluster):
    return await cluster.make("v1", "ConfigMap", "of", namespace="default")


def pod(pod_spec, **metadata):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "default", **metadata}, "spec": pod_spec}


async def test_create_records_an_event_per_pod(cluster, owner, config, pod_spec):
    owner.control.expectations.expect("k", creations=2)
    created = await owner.control.create("k", config, [pod(pod_spec, name="a"), pod(pod_spec, name="b")])
    assert (sorted(map(name_of, created.pods)), created.error) == (["a", "b"], None)
    assert owner.control.expectations.pending("k") == (2, frozenset())
    events = await cluster.until(lambda: cluster.events("SuccessfulCreate"))
    assert {event["message"] for event in events} >= {"Created pod: a"}


async def test_failed_creation_lowers_expectations(cluster, owner, config, pod_spec):
    owner.control.expectations.expect("k", creations=3)
    bad = pod({"containers": []}, name="bad")
    created = await owner.control.create("k", config, [bad, pod(pod_spec, name="b"), pod(pod_spec, name="c")])
    assert created.pods == ()
    assert owner.control.expectations.satisfied("k")
    events = await cluster.until(lambda: cluster.events("FailedCreate"))
    assert events[0]["message"] == f"Error creating: {created.error}"


async def test_is_up_to_date_checks_the_cache_when_events_were_missed(cluster, owner, config, pod_spec):
    owner.control.expectations.expect("k", creations=1)
    await owner.control.create("k", config, [pod(pod_spec, name="a")])
    await cluster.until(lambda: owner.pods.lister.get("a", namespace="default"))
    assert await owner.control.is_up_to_date("k", [])
    existing = owner.pods.lister.get("a", namespace="default")
    owner.control.expectations.expect("k", deletions=[uid_of(existing)])
    assert not await owner.control.is_up_to_date("k", [existing])
    assert await owner.control.is_up_to_date("k", [])


async def test_delete_counts_missing_pods_as_deleted(cluster, owner, config, pod_spec):
    existing = await cluster.client.create(pod(pod_spec, name="a"))
    owner.control.expectations.expect("k", deletions=[uid_of(existing)])
    assert len((await owner.control.delete("k", config, [existing])).pods) == 1
    await cluster.until(lambda: is_deleted(cluster))
    owner.control.expectations.expect("k", deletions=[uid_of(existing)])
    again = await owner.control.delete("k", config, [existing])
    assert (len(again.pods), again.error) == (1, None)
    assert owner.control.expectations.satisfied("k")


async def test_delete_counts_a_pod_as_deleted_when_another_has_its_name(cluster, owner, config, pod_spec):
    old = await cluster.client.create(pod(pod_spec, name="a"))
    await cluster.client.delete_object(old)
    new = await cluster.client.create(pod(pod_spec, name="a"))
    owner.control.expectations.expect("k", deletions=[uid_of(old)])
    removed = await owner.control.delete("k", config, [old])
    assert (removed.pods, removed.error) == ((old,), None)
    assert owner.control.expectations.satisfied("k")
    live = await cluster.client.get(Pod, "a", namespace="default")
    assert uid_of(live) == uid_of(new)
    await cluster.clock.advance(1)
    assert await cluster.events("FailedDelete") == await cluster.events("SuccessfulDelete") == []


async def test_delete_returns_a_conflict_while_the_pod_exists(cluster, owner, config, pod_spec, conflicts):
    existing = await cluster.client.create(pod(pod_spec, name="a"))
    owner.control.expectations.expect("k", deletions=[uid_of(existing)])
    conflicts.add("DELETE", "/pods/a")
    removed = await owner.control.delete("k", config, [existing])
    assert removed.pods == ()
    assert is_conflict(removed.error)
    assert owner.control.expectations.satisfied("k")
    assert not await is_deleted(cluster)
    assert await cluster.until(lambda: cluster.events("FailedDelete"))


async def is_deleted(cluster):
    return await cluster.find("v1", "Pod", "a", namespace="default") is None


@pytest.mark.parametrize("fault", [ValueError("not now"), conflict("pods", "a"), not_found("pods", "a")])
async def test_pod_is_not_deleted_when_the_preceding_step_fails(cluster, owner, config, pod_spec, fault):
    existing = await cluster.client.create(pod(pod_spec, name="a"))

    async def refuse(_):
        raise fault

    removed = await owner.control.delete("k", config, [existing], before=refuse)
    assert (removed.pods, removed.error) == ((), fault)
    assert await cluster.client.get(tree("v1", "Pod"), "a", namespace="default")
