"""Snapshots of starts: what a server begins with is what a bootstrap of it would have written."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from steersman.asynckit.clock import FakeClock
from steersman.controlplane.options import SYSTEM_NAMESPACES, APIServerOptions
from steersman.storage.dump import StoreDump
from steersman.storage.memory import MemoryStore
from steersman.storage.store import KeyValue
from steersman.testing import InProcessAPIServer
from steersman.testing.bootstrap_snapshots import SNAPSHOTS_MAX, BootstrapSnapshots

EARLIER, LATER = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
_UID = re.compile(rb'"uid":"[^"]+"')


def objects(store):
    """Return the values by key, without UIDs."""
    return {row.key: _UID.sub(b"", row.value) for row in store.dump().rows}


def uids(store):
    return {uid for row in store.dump().rows for uid in _UID.findall(row.value)}


async def test_server_begins_with_the_objects_of_a_bootstrap():
    clock, options = FakeClock(LATER), APIServerOptions(ephemeral=True, name="of-this-test")
    store = MemoryStore(clock=clock)
    async with (
        InProcessAPIServer(options=options, clock=FakeClock(EARLIER)) as first,
        InProcessAPIServer(options=options, clock=clock) as later,
        InProcessAPIServer(options=options, clock=clock, store=store),
    ):
        assert objects(later.store) == objects(store)
        assert first.store.revision == later.store.revision == store.revision
        assert not uids(first.store) & uids(later.store)


async def test_server_with_other_options_creates_its_own_objects():
    options = APIServerOptions(ephemeral=True, system_namespaces=(*SYSTEM_NAMESPACES, "platform"))
    async with InProcessAPIServer(), InProcessAPIServer(options=options) as server:
        assert (await server.request("GET", "/api/v1/namespaces/platform")).code == 200


def test_time_of_a_snapshot_has_no_fraction():
    snapshots, options = BootstrapSnapshots(), APIServerOptions()
    created = EARLIER + timedelta(seconds=28)
    row = KeyValue("/registry/a", b'{"creationTimestamp":"2026-01-01T00:00:28Z"}', 1, 1)
    snapshots.add(options, StoreDump(1, [row], []), now=created + timedelta(seconds=0.7))
    dump = snapshots.get(options, now=LATER + timedelta(seconds=0.1))
    assert [row.value for row in dump.rows] == [b'{"creationTimestamp":"2026-03-04T05:06:07Z"}']


def test_oldest_snapshot_makes_room():
    snapshots, dump = BootstrapSnapshots(), StoreDump(1, [], [])
    options = [APIServerOptions(name=f"plane-{number}") for number in range(SNAPSHOTS_MAX + 1)]
    for plane in options:
        snapshots.add(plane, dump, now=EARLIER)
    assert [snapshots.get(plane, now=EARLIER) for plane in options] == [None, *SNAPSHOTS_MAX * [dump]]
