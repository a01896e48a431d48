"""History of objects from the changes of a store."""

import msgspec

from steersman.asynckit.clock import FakeClock
from steersman.storage.memory import MemoryStore
from steersman.storage.store import Delete, Put
from steersman.testing import history
from steersman.testing.history import ObjectHistory, diff_of

KEY = "/registry/configmaps/default/a"


def value(**data):
    return msgspec.json.encode({"metadata": {"name": "a"}, "data": data})


async def followed():
    clock = FakeClock()
    store, objects = MemoryStore(clock=clock), ObjectHistory(clock)
    await objects.follow(store)
    return store, objects


async def test_history_has_additions_changes_and_deletions():
    store, objects = await followed()
    await store.txn([Put(KEY, value(x="1"))])
    await store.txn([Put(KEY, value(x="2"))])
    await store.txn([Delete(KEY)])
    await store.txn([Put(KEY, value(x="3"))])
    versions = objects.versions(KEY)
    assert [(version.type, version.revision) for version in versions] == [
        ("ADDED", 1), ("MODIFIED", 2), ("DELETED", 3), ("ADDED", 4),
    ]  # fmt: skip
    assert [version.diff for version in versions] == [[], ['data.x: "1" → "2"'], [], []]
    assert objects.diff(2) == ['data.x: "1" → "2"']


async def test_heartbeats_are_not_recorded():
    store, objects = await followed()
    await store.txn([Put("/registry/leases/kube-node-lease/node-0", value())])
    assert objects.total == 0


async def test_reports_of_an_unchanged_node_status_are_recorded_and_no_news():
    def node(heartbeat, ready="True"):
        condition = {"type": "Ready", "status": ready, "lastHeartbeatTime": heartbeat}
        metadata = {"name": "n", "managedFields": [{"manager": "kubelet", "time": heartbeat}]}
        return msgspec.json.encode({"metadata": metadata, "status": {"conditions": [condition]}})

    store, objects = await followed()
    seen = []
    for stored in (node("00:00"), node("05:00"), node("10:00", ready="False"), node("15:00", ready="False")):
        await store.txn([Put("/registry/minions/n", stored)])
        seen.append((objects.total, objects.total_news))
    await store.txn([Delete("/registry/minions/n")])
    assert [*seen, (objects.total, objects.total_news)] == [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3)]


async def test_history_is_bounded_and_drops_the_oldest(monkeypatch):
    monkeypatch.setattr(history, "VERSIONS_MAX", 2)
    store, objects = await followed()
    for number in range(4):
        await store.txn([Put(KEY, value(x=str(number)))])
    assert [version.revision for version in objects.versions(KEY)] == [3, 4]
    assert [item.revision for item in objects.since(0)] == [3, 4]
    assert objects.total == 4


async def test_closed_history_records_nothing():
    store, objects = await followed()
    objects.close()
    await store.txn([Put(KEY, value())])
    assert objects.total == 0


def test_diff_names_nested_fields_and_leaves_out_what_always_changes():
    before = {"metadata": {"resourceVersion": "1", "managedFields": [1]}, "spec": {"a": [{"b": 1}, 2], "c": 1}}
    after = {"metadata": {"resourceVersion": "2", "managedFields": [2]}, "spec": {"a": [{"b": 2}, 2], "d": [1]}}
    assert diff_of(before, after) == ["spec.a[0].b: 1 → 2", "spec.c: 1 → none", "spec.d: none → [1]"]


def test_diff_shortens_long_values():
    (line,) = diff_of({}, {"data": "x" * 200})
    assert len(line) < 120
    assert line.endswith("…")
