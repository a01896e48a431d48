from __future__ import annotations

import sqlite3

import pytest

from steersman.storage.sqlite import NotAStore, SqliteStore, StoreNotWritable
from steersman.storage.sqlite.database import UNKNOWN_JUMP
from steersman.storage.sqlite.salvage import back_up, inspect, repair, salvage
from steersman.storage.store import Compacted, Put


async def filled(open_store, count=20):
    store = await open_store()
    await store.grant_lease(60, lease_id=7)
    for number in range(count):
        await store.txn([Put(f"/a/{number}", b"%d" % number * 900, lease_id=7 if number == 3 else 0)])
    return store


def change(path, sql, *parameters):
    with sqlite3.connect(path) as connection:
        connection.execute(sql, parameters)
    connection.close()


async def test_check_of_a_sound_store_finds_nothing(open_store, path):
    await (await filled(open_store)).close()
    report = inspect(path, decode=lambda _key, _value: "")
    assert (report.problems, report.corrupt_keys, report.keys, report.revision) == ([], [], 20, 20)


async def test_check_names_values_that_do_not_decode(open_store, path):
    await (await filled(open_store)).close()
    report = inspect(path, decode=lambda key, _value: "is wrong" if key == "/a/7" else "")
    assert report.problems == ["/a/7: is wrong"]


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("DELETE FROM latest WHERE key = '/a/7'", "rows are missing"),
        ("UPDATE latest SET id = id + 70000 WHERE key = '/a/7'", "do not fit"),
        ("UPDATE session SET is_closed = 0", "store.db-wal is missing"),
        ("DELETE FROM session", "0 rows in the table session"),
    ],
)
async def test_check_finds_damage(open_store, path, sql, problem):
    await (await filled(open_store)).close()
    change(path, sql)
    if "is_closed" in sql:
        change(path, "DELETE FROM latest WHERE id = (SELECT max(id) FROM latest)")
    assert problem in " ".join(inspect(path).problems)


def test_check_refuses_what_is_no_store(path):
    with pytest.raises(StoreNotWritable, match="no such file"):
        inspect(path)
    path.write_text("nothing of a store, and long enough to be read as one " * 50)
    with pytest.raises(NotAStore):
        inspect(path)


async def test_backup_of_a_running_store_opens_at_one_revision(open_store, path, tmp_path, clock):
    store = await filled(open_store)
    copy = tmp_path / "copy.db"
    assert back_up(path, copy) == 20
    assert copy.stat().st_mode & 0o777 == 0o600
    await store.txn([Put("/a/later", b"1")])
    assert sorted(part.name for part in tmp_path.iterdir() if part.name.startswith("copy")) == ["copy.db"]
    assert inspect(copy).is_sound
    restored = await SqliteStore.open(copy, clock=clock)
    assert (await restored.range("/a/")).count == 20
    assert restored.revision >= 20 + UNKNOWN_JUMP
    with pytest.raises(Compacted):
        await restored.range("/a/", revision=20)
    revision = restored.revision
    await restored.close()
    again = await SqliteStore.open(copy, clock=clock)
    assert again.revision == revision
    await again.close()


async def test_backup_does_not_overwrite(open_store, path, tmp_path):
    await filled(open_store)
    (tmp_path / "copy.db").write_text("mine")
    with pytest.raises(FileExistsError):
        back_up(path, tmp_path / "copy.db")
    assert (tmp_path / "copy.db").read_text() == "mine"


async def test_repair_lists_and_drops_rows_that_are_damaged(open_store, path):
    await (await filled(open_store)).close()
    change(path, "UPDATE latest SET value = x'00' WHERE key = '/a/7'")
    result = salvage(path)
    assert (result.lost_keys, len(result.rows), result.acknowledged_revision) == (["/a/7"], 19, 20)
    revision = repair(path, result, suffix=".damaged")
    store = await open_store()
    assert store.revision == revision
    kvs = (await store.range("/a/")).kvs
    assert {kv.key for kv in kvs} == {f"/a/{n}" for n in range(20) if n != 7}
    assert {kv.key for kv in kvs if kv.lease_id == 7} == {"/a/3"}
    await store.keep_alive(7)
