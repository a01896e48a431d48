from __future__ import annotations

import sqlite3

import pytest

from steersman.storage.sqlite.ack_record import row_checksum
from steersman.storage.sqlite.batches import POSITION_BITS
from steersman.storage.sqlite.database import connect_writer
from steersman.storage.sqlite.schema import CHECKED_SCHEMA, MIGRATIONS, ROW_BYTES, Kind
from steersman.storage.store import Delete, Put


async def test_history_size_is_derived_from_two_rows(open_store, path):
    store = await open_store()
    await store.txn([Put("/a", b"x" * 100)])
    await store.txn([Put("/a", b"x" * 50), Put("/b", b"x" * 30)])
    await store.txn([Delete("/a"), Delete("/b")])
    await store.close()
    connection = sqlite3.connect(path)
    totals = [row[0] for row in connection.execute("SELECT bytes_total FROM history ORDER BY id")]
    connection.close()
    sizes = [later - earlier - ROW_BYTES for earlier, later in zip([0, *totals], totals, strict=False)]
    assert sizes == [100, 50, 30]


async def test_squashed_key_leaves_no_history(open_store, path):
    store = await open_store(squash_prefixes=["/beat/"])
    for n in range(10):
        await store.txn([Put("/beat/x", b"%d" % n)])
    await store.close()
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT count(*) FROM history").fetchone() == (0,)
    connection.close()


def change(kind, revision, key, *, create_revision=0, position=0):
    value = None if kind is Kind.REMOVED else b"%d" % revision
    return (int(kind), (revision << POSITION_BITS) + position, key, create_revision or revision, 0, value)


#: Keys made, changed, removed and made again, so that some are as they were made and others are not.
HISTORY = [
    change(Kind.CREATED, 1, "/a/once"),
    change(Kind.CREATED, 2, "/a/changed"),
    change(Kind.CREATED, 3, "/a/gone"),
    change(Kind.REPLACED, 4, "/a/changed", create_revision=2),
    change(Kind.CREATED, 5, "/a/again"),
    change(Kind.REMOVED, 6, "/a/gone", create_revision=3),
    change(Kind.REMOVED, 7, "/a/again", create_revision=5),
    change(Kind.REPLACED, 8, "/a/changed", create_revision=2),
    change(Kind.CREATED, 9, "/a/again"),
    # In the oldest files the writes of a transaction shared their revision.
    change(Kind.CREATED, 10, "/a/one"),
    change(Kind.CREATED, 10, "/a/other", position=1),
    change(Kind.REPLACED, 11, "/a/other", create_revision=10),
]


async def history_of(store):
    """Return the state at each revision, and the events of a watch from each."""
    pasts, watches = [], []
    for revision in range(1, store.revision + 1):
        response = await store.range("/a/", revision=revision)
        pages = await store.range("/a/", revision=revision, limit=2)
        pasts.append((response.kvs, response.count, pages.kvs, pages.count))
        batches = []
        (await store.watch("/a/", batches.append, after_revision=revision, on_lost=batches.append)).close()
        watches.append([event for batch in batches for event in batch.events])
    return pasts, watches


@pytest.mark.parametrize("schema", range(1, len(MIGRATIONS) + 1))
async def test_all_schemas_have_the_same_history(open_store, path, schema):
    connection = connect_writer(path, migrations=MIGRATIONS[:schema])
    last = HISTORY[-1][1] >> POSITION_BITS
    rows = [*HISTORY, (int(Kind.REACHED), last << POSITION_BITS, "", 0, 0, None)]
    if schema >= CHECKED_SCHEMA:
        rows = [(*row, row_checksum(row[2], row[1] >> POSITION_BITS, row[3], row[4], row[5] or b"")) for row in rows]
    columns = ", ".join("?" * len(rows[0]))
    with connection:
        connection.executemany(f"INSERT INTO change VALUES ({columns})", rows)
    connection.close()
    store = await open_store()
    pasts, watches = await history_of(store)

    state = {}
    for row in HISTORY:
        kind, row_id, key, create_revision, _, value = row
        state[key] = None if kind == Kind.REMOVED else (value, create_revision, row_id >> POSITION_BITS)
        if row_id >> POSITION_BITS in (10, 11) and key == "/a/one":
            continue  # one of two at once
        kvs, count, page, page_count = pasts[(row_id >> POSITION_BITS) - 1]
        expected_state = {key: was for key, was in sorted(state.items()) if was is not None}
        assert {kv.key: (kv.value, kv.create_revision, kv.mod_revision) for kv in kvs} == expected_state
        assert (count, page_count, page) == (len(expected_state), len(expected_state), kvs[:2])
    for after, events in enumerate(watches, 1):
        rows = [(key, value, create_revision, at >> POSITION_BITS) for _, at, key, create_revision, _, value in HISTORY]
        expected = [row for row in rows if row[3] > after]
        assert {(e.key, e.value, e.create_revision, e.mod_revision) for e in events} == set(expected)
        assert len(events) == len(expected)
