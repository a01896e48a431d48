"""Damage to the files of a store: a start finds all that was acknowledged, or refuses and names what is missing."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor

import pytest

from steersman.asynckit.clock import FakeClock
from steersman.storage.sqlite import CorruptStore, NotAStore, SqliteStore, WritesMissing
from steersman.storage.sqlite.ack_record import AckRecord, WalPosition
from steersman.storage.sqlite.salvage import inspect, repair, salvage
from steersman.storage.sqlite.verification import Session, Verdict, verify_session
from steersman.storage.store import CorruptValue, Delete, Put, StoreError

KEYS = 40


class Copies:
    """The files of a store at some moment, and what had been acknowledged then."""

    def __init__(self, folder):
        self.folder = folder
        self.values = {}
        self.revision = 0

    def take(self, path):
        self.folder.mkdir()
        for suffix in ("", "-wal", "-ack"):
            if path.with_name(path.name + suffix).exists():
                shutil.copy(path.with_name(path.name + suffix), self.folder / f"store.db{suffix}")


async def write(store, copies, *, rounds, seed):
    rng = random.Random(seed)
    for number in range(rounds):
        key = f"/key/{rng.randrange(KEYS)}"
        if key in copies.values and rng.random() < 0.2:
            copies.revision = await store.txn([Delete(key)])
            del copies.values[key]
        else:
            value = b"%d " % number + rng.randbytes(rng.randrange(3000))
            copies.revision = await store.txn([Put(key, value)])
            copies.values[key] = value


async def make_copies(folder, *, before, after, seed, closed=False):
    """Write, have the log so far go into the file, write more; copy the files as a kill would leave them, or closed."""
    path = folder / "store.db"
    copies = Copies(folder / "copy")
    store = await SqliteStore.open(path, clock=FakeClock())
    await write(store, copies, rounds=before, seed=seed)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
    await write(store, copies, rounds=after, seed=seed + 1)
    if closed:
        connection.close()
        await store.close()
        copies.take(path)
    else:
        copies.take(path)
        connection.close()
        await store.close()
    return copies


def in_a_loop_of_its_own(coroutine):
    """Run it: the fixtures are made once, and each test has a loop."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """Copies of a running store with a partly checkpointed log."""
    return in_a_loop_of_its_own(make_copies(tmp_path_factory.mktemp("running"), before=150, after=60, seed=1))


@pytest.fixture(scope="module")
def checkpointed(tmp_path_factory):
    """Copies of a running store with a fully checkpointed log."""
    return in_a_loop_of_its_own(make_copies(tmp_path_factory.mktemp("checkpointed"), before=100, after=0, seed=3))


@pytest.fixture(scope="module")
def closed(tmp_path_factory):
    return in_a_loop_of_its_own(
        make_copies(tmp_path_factory.mktemp("closed"), before=100, after=9, seed=5, closed=True)
    )


def restored(copies, tmp_path):
    folder = tmp_path / "damaged"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(copies.folder, folder)
    return folder / "store.db"


async def outcome(path, copies):
    """Open a store whose files were damaged. "refused", "opened" or "opened, but some values are damaged"."""
    try:
        store = await SqliteStore.open(path, clock=FakeClock())
    except NotAStore:
        return "refused"
    except (WritesMissing, CorruptStore) as error:
        refusal = str(error)
    else:
        refusal = ""
    if refusal:
        assert "steersman repair" in refusal
        assert str(path) in refusal
        return "refused"
    try:
        assert store.revision >= copies.revision
        corrupt = set()
        try:
            response = await store.range("/")
        except CorruptValue as error:
            response, corrupt = error.readable, set(error.keys)
        assert corrupt <= copies.values.keys()
        assert {kv.key: kv.value for kv in response.kvs} == {
            key: value for key, value in copies.values.items() if key not in corrupt
        }
        for key in copies.values:
            if key in corrupt:
                with pytest.raises(CorruptValue):
                    await store.get(key)
            else:
                assert (await store.get(key)).value == copies.values[key]
        assert await store.txn([Put("/new", b"1")]) > copies.revision
        return "opened, but some values are damaged" if corrupt else "opened"
    finally:
        await store.close()


def truncate(path, rng):
    size = path.stat().st_size
    os.truncate(path, rng.randrange(size))


def empty(path, _rng):
    os.truncate(path, 0)


def delete(path, _rng):
    path.unlink()


def flip_bit(path, rng):
    data = bytearray(path.read_bytes())
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


def zero_page(path, rng):
    data = bytearray(path.read_bytes())
    start = rng.randrange(0, len(data), 512)
    data[start : start + 512] = bytes(len(data[start : start + 512]))
    path.write_bytes(data)


@pytest.mark.parametrize("damage", [truncate, empty, delete, flip_bit, zero_page], ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("suffix", ["", "-wal", "-ack"], ids=["file", "log", "record"])
@pytest.mark.parametrize("state", ["running", "checkpointed", "closed"])
async def test_damaged_store_is_complete_or_refused(request, tmp_path, state, suffix, damage):
    copies = request.getfixturevalue(state)
    rng = random.Random(f"{state}{suffix}{damage.__name__}")
    for _ in range(1 if damage in (empty, delete) else 12):
        path = restored(copies, tmp_path)
        part = path.with_name(path.name + suffix)
        if part.exists():
            damage(part, rng)
        await outcome(path, copies)


async def test_undamaged_copies_open(running, checkpointed, closed, tmp_path):
    for copies in (running, checkpointed, closed):
        assert await outcome(restored(copies, tmp_path), copies) == "opened"


@pytest.mark.parametrize("damage", [empty, delete], ids=lambda damage: damage.__name__)
async def test_missing_log_is_refused_with_the_missing_revisions(running, tmp_path, damage):
    path = restored(running, tmp_path)
    damage(path.with_name("store.db-wal"), None)
    with pytest.raises(
        WritesMissing, match=r"store\.db-wal is missing.*revisions \d+ to \d+ are missing.*steersman repair"
    ) as refused:
        await SqliteStore.open(path, clock=FakeClock())
    assert refused.value.last == running.revision
    assert 0 < refused.value.first <= running.revision


async def test_missing_log_is_accepted_when_the_file_is_complete(checkpointed, tmp_path):
    path = restored(checkpointed, tmp_path)
    path.with_name("store.db-wal").unlink()
    assert await outcome(path, checkpointed) == "opened"


async def test_flipped_bit_in_the_log_is_refused(running, tmp_path):
    path = restored(running, tmp_path)
    wal = path.with_name("store.db-wal")
    data = bytearray(wal.read_bytes())
    data[32 + 10 * 4120] ^= 1  # the header, and ten frames
    wal.write_bytes(data)
    assert await outcome(path, running) == "refused"


async def test_damaged_value_is_an_error_and_can_be_replaced_and_deleted(closed, tmp_path):
    path = restored(closed, tmp_path)
    data = bytearray(path.read_bytes())
    key = max(closed.values, key=lambda key: len(closed.values[key]))
    data[data.rindex(closed.values[key][100:150])] ^= 1
    path.write_bytes(data)
    assert inspect(path).corrupt_keys == [key]
    assert await outcome(path, closed) == "opened, but some values are damaged"
    store = await SqliteStore.open(path, clock=FakeClock())
    with pytest.raises(CorruptValue) as listed:
        await store.range("/key/", limit=0)
    assert listed.value.keys == (key,)
    await store.txn([Put(key, b"2")])
    assert (await store.get(key)).value == b"2"
    await store.txn([Delete(key)])
    assert await store.get(key) is None
    await store.close()


async def test_torn_commit_that_was_not_acknowledged_does_not_refuse(running, tmp_path):
    path = restored(running, tmp_path)
    with path.with_name("store.db-wal").open("ab") as wal:
        wal.write(os.urandom(5000))
    assert await outcome(path, running) == "opened"


async def test_missing_record_is_refused_unless_the_store_was_closed(running, closed, tmp_path):
    for copies, expected in ((running, "refused"), (closed, "opened")):
        path = restored(copies, tmp_path)
        path.with_name("store.db-ack").unlink()
        assert await outcome(path, copies) == expected


async def test_older_file_under_a_newer_record_is_refused(closed, tmp_path):
    path = restored(closed, tmp_path)
    older = path.read_bytes()
    store = await SqliteStore.open(path, clock=FakeClock())
    await store.txn([Put("/key/new", b"1")])
    await store.close()
    path.write_bytes(older)
    with pytest.raises(WritesMissing, match="older than its record"):
        await SqliteStore.open(path, clock=FakeClock())


async def test_repair_keeps_readable_keys_and_never_reuses_a_revision(running, tmp_path):
    path = restored(running, tmp_path)
    os.truncate(path.with_name("store.db-wal"), 100_000)
    assert await outcome(path, running) == "refused"
    result = salvage(path)
    assert result.acknowledged_revision == running.revision
    assert result.revision < running.revision
    revision = repair(path, result, suffix=".damaged")
    assert inspect(path).is_sound
    assert path.with_name("store.db.damaged-wal").exists()
    store = await SqliteStore.open(path, clock=FakeClock())
    assert store.revision == revision > running.revision
    assert await store.txn([Put("/key/new", b"1")]) == revision + 1
    await store.close()


def session_of(**changes):
    values = {
        "session": 5,
        "is_closed": False,
        "fingerprint": None,
        "reserved_revision": 1000,
        "is_backup": False,
        "revision": 10,
    }
    return Session(**{**values, **changes})


def record_of(**changes):
    wal = WalPosition(20, b"\0\0\0\1abcd")
    return AckRecord(**{"session": 5, "previous_session": 4, "revision": 10, "fingerprint": 77, "wal": wal, **changes})


SALTS = b"\0\0\0\1abcd"
LATER_SALTS = b"\0\0\0\2efgh"


@pytest.mark.parametrize(
    ("session", "record", "wal", "verdict"),
    [
        (session_of(), record_of(), WalPosition(20, SALTS), Verdict(77)),
        (session_of(), record_of(), WalPosition(21, SALTS), Verdict(77)),
        (session_of(session=4), record_of(), WalPosition(20, SALTS), Verdict(77)),
        (
            session_of(revision=12),
            record_of(next_revision=12, next_fingerprint=78),
            WalPosition(22, SALTS),
            Verdict(78),
        ),
        (session_of(revision=13), record_of(), WalPosition(22, SALTS), Verdict(needs_check=True)),
        (session_of(revision=13), record_of(), WalPosition(2, LATER_SALTS), Verdict(needs_check=True)),
        (session_of(), record_of(), WalPosition(19, SALTS), Verdict(77, needs_check=True, drops_history=True)),
        (session_of(), record_of(), WalPosition(), Verdict(77, needs_check=True, drops_history=True)),
        (session_of(is_closed=True, fingerprint=77), record_of(is_closed=True), WalPosition(), Verdict(77)),
        (session_of(is_closed=True, fingerprint=76), None, WalPosition(), Verdict(76)),
        (session_of(session=8, is_closed=True, fingerprint=76), record_of(), WalPosition(), Verdict(76)),
        (
            session_of(session=8, is_closed=True, fingerprint=76, is_backup=True),
            record_of(revision=5000),
            WalPosition(),
            Verdict(76, needs_check=True, jump_from=5000),
        ),
    ],
)
def test_verify_session_allows(tmp_path, session, record, wal, verdict):
    assert verify_session(tmp_path / "store.db", session, record, wal) == verdict


@pytest.mark.parametrize(
    ("session", "record", "wal", "message"),
    [
        (session_of(), None, WalPosition(20, SALTS), "store.db-ack.* is missing; it cannot be told"),
        (session_of(revision=9), record_of(), WalPosition(20, SALTS), "revisions 10 to 10 are missing"),
        (session_of(revision=7), record_of(), WalPosition(), "store.db-wal .* revisions 8 to 10 are missing"),
        (session_of(revision=11), record_of(), WalPosition(19, SALTS), "all writes up to revision 10 are there"),
        (session_of(session=8), record_of(), WalPosition(20, SALTS), "of another session"),
        (session_of(session=8, is_closed=True, revision=6), record_of(), WalPosition(), "older than its record"),
    ],
)
def test_verify_session_refuses(tmp_path, session, record, wal, message):
    with pytest.raises(StoreError, match=message):
        verify_session(tmp_path / "store.db", session, record, wal)
