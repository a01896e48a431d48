from __future__ import annotations

import sqlite3

from steersman.storage.sqlite.schema import ROW_BYTES
from steersman.storage.store import Delete, Put


async def test_two_rows_of_the_history_tell_its_size_between_them(open_store, path):
    store = await open_store()
    await store.txn([Put("/a", b"x" * 100)])
    await store.txn([Put("/a", b"x" * 50), Put("/b", b"x" * 30)])
    await store.txn([Delete("/a"), Delete("/b")])
    await store.close()
    connection = sqlite3.connect(path)
    totals = [row[0] for row in connection.execute("SELECT bytes_total FROM history ORDER BY id")]
    connection.close()
    sizes = [later - earlier - ROW_BYTES for earlier, later in zip([0, *totals], totals, strict=False)]
    assert sizes == [0, 100, 0, 50, 30]


async def test_overwriting_a_squashed_key_leaves_no_row(open_store, path):
    store = await open_store(squash_prefixes=["/beat/"])
    for n in range(10):
        await store.txn([Put("/beat/x", b"%d" % n)])
    await store.close()
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT count(*) FROM history").fetchone() == (1,)
    connection.close()
