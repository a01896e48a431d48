"""Pod event handlers: enqueued owners and observed expectations."""

from __future__ import annotations

import msgspec
import pytest
from lightkube.models.apps_v1 import ReplicaSet
from lightkube.models.core_v1 import Pod

from steersman.apimachinery.selectors import from_label_selector
from steersman.asynckit.clock import FakeClock
from steersman.client.changes import Added, Deleted, Updated
from steersman.client.objects import key_of
from steersman.client.store import Lister, Store
from steersman.runtime.expectations import Expectations
from steersman.workloads.pod_events import PodEvents

GOING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


class Owners:
    """A cache with two owners, ``a`` and ``b``, whose Pods are labelled with their names."""

    def __init__(self):
        store = Store()
        self.lister = Lister(store)
        for name in "ab":
            body = {"metadata": {"name": name, "namespace": "n", "uid": name}, "spec": {"selector": {}}}
            owner = msgspec.convert(body, ReplicaSet)
            owner.spec.minReadySeconds = 5
            store.put(key_of(owner), owner)


class Queue:
    """Recorded queue of a controller."""

    def __init__(self):
        self.keys = []
        self.later = []

    def enqueue(self, obj):
        self.keys.append(key_of(obj))

    def enqueue_after(self, obj, seconds):
        self.later.append((key_of(obj), seconds))


class World:
    def __init__(self, **more):
        self.queue = Queue()
        self.expectations = Expectations(FakeClock())
        self.expectations.expect("n/a", creations=1, deletions=["p"])
        self.unowned = []
        self.events = PodEvents(
            self.queue,
            Owners(),
            self.expectations,
            kind="ReplicaSet",
            selector_of=lambda owner: from_label_selector({"matchLabels": {"of": owner.metadata.name}}),
            unowned=lambda pod: self.unowned.append(key_of(pod)),
            **more,
        )

    def after(self, change):
        self.events.changed(change)
        return self


def pod(*, owner="", owner_uid="", kind="ReplicaSet", uid="p", of="", ready=False, **metadata):
    body = {"name": "p", "namespace": "n", "uid": uid, "labels": {"of": of}, **metadata}
    if owner:
        reference = {"apiVersion": "v1", "kind": kind, "name": owner, "uid": owner_uid or owner, "controller": True}
        body["ownerReferences"] = [reference]
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    return msgspec.convert({"metadata": body, "status": {"conditions": conditions}}, Pod)


def pod_of(owner, **more):
    return pod(owner=owner, **more)


#: Pod of a deleted owner whose name another one has.
ANOTHER = pod_of("a", owner_uid="gone")


@pytest.fixture
def world():
    return World()


@pytest.mark.parametrize(
    ("change", "keys", "pending"),
    [
        (Added(pod_of("a")), ["n/a"], (0, {"p"})),
        (Added(pod_of("a", **GOING)), ["n/a"], (1, set())),
        (Deleted(pod_of("a")), ["n/a"], (1, set())),
        (Updated(pod_of("a"), pod_of("a", **GOING)), ["n/a"], (1, set())),
        (Updated(pod_of("a"), pod_of("a")), ["n/a"], (1, {"p"})),
        (Updated(pod_of("b"), pod_of("a")), ["n/b", "n/a"], (1, {"p"})),
    ],
)
def test_changed_enqueues_the_owner(world, change, keys, pending):
    assert world.after(change).queue.keys == keys
    assert world.expectations.pending("n/a") == pending
    assert world.unowned == []


@pytest.mark.parametrize(
    ("change", "keys"),
    [
        (Added(pod(of="a")), ["n/a"]),
        (Added(pod(of="none")), []),
        (Updated(pod(of="a"), pod(of="b")), ["n/b"]),
        (Updated(pod_of("a"), pod(of="b")), ["n/a", "n/b"]),
        (Updated(pod_of("x", kind="Job", of="b"), pod(of="b")), ["n/b"]),
    ],
)
def test_changed_enqueues_adopters_of_an_orphan(world, change, keys):
    assert world.after(change).queue.keys == keys
    assert world.unowned == ["n/p"]


def test_changed_ignores_irrelevant_updates_of_an_orphan(world):
    assert world.after(Updated(pod(of="a"), pod(of="a", ready=True))).queue.keys == []
    assert world.unowned == []


@pytest.mark.parametrize("stranger", [pod_of("x"), pod_of("a", kind="Job"), ANOTHER])
@pytest.mark.parametrize("change", [Added, Deleted, lambda stranger: Updated(stranger, stranger)])
def test_changed_passes_pods_of_other_owners_to_unowned(world, stranger, change):
    assert world.after(change(stranger)).queue.keys == []
    assert world.unowned == ["n/p"]


@pytest.mark.parametrize(
    ("before", "after", "later"),
    [(False, True, [("n/a", 6)]), (True, True, []), (True, False, []), (False, False, [])],
)
def test_changed_enqueues_the_owner_when_a_pod_becomes_available(world, before, after, later):
    assert world.after(Updated(pod_of("a", ready=before), pod_of("a", ready=after))).queue.later == later


def test_changed_calls_a_custom_enqueue():
    received = []
    world = World(enqueue=lambda owner, pod: received.append((key_of(owner), key_of(pod))))
    assert world.after(Added(pod_of("a"))).queue.keys == []
    assert received == [("n/a", "n/p")]


def test_owner_of_matches_name_and_uid(world):
    assert world.events.owner_of(pod_of("a")).metadata.name == "a"
    assert world.events.owner_of(ANOTHER) is None
    assert world.events.owner_of(pod()) is None
