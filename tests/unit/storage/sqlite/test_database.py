from __future__ import annotations

import os
import shutil
import sqlite3

import pytest

from steersman.storage.sqlite import CorruptStore, NotAStore, SchemaTooNew, SqliteStore, StoreNotWritable, files
from steersman.storage.sqlite.schema import APPLICATION_ID, MIGRATIONS
from steersman.storage.store import Put


async def fill(store, keys=3):
    for n in range(keys):
        await store.txn([Put(f"/a/{n}", b"v" * 3000)])
    await store.close()


async def test_a_new_file_is_readable_by_its_owner_only(open_store, path):
    await (await open_store()).txn([Put("/a", b"1")])
    modes = {part.suffix: part.stat().st_mode & 0o777 for part in path.parent.iterdir()}
    assert set(modes.values()) == {0o600}
    assert ".db-wal" in modes


async def test_after_close_one_file_holds_everything(open_store, path):
    await fill(await open_store())
    assert sorted(part.name for part in path.parent.iterdir()) == ["store.db", "store.db-ack", "store.db.lock"]


async def test_an_empty_file_becomes_a_store(open_store, path):
    path.touch()
    assert (await open_store()).revision == 0


async def test_what_was_written_is_there_after_reopening(open_store):
    await fill(await open_store())
    store = await open_store()
    assert store.revision == 3
    assert [(kv.key, kv.mod_revision) for kv in (await store.range("/")).kvs] == [("/a/0", 1), ("/a/1", 2), ("/a/2", 3)]


async def test_a_text_file_is_refused_and_left_alone(open_store, path):
    path.write_text("do not lose me, I am a file of some length" * 100)
    before = path.read_bytes()
    with pytest.raises(NotAStore, match="untouched"):
        await open_store()
    assert path.read_bytes() == before


async def test_a_database_of_another_program_is_refused_and_left_alone(open_store, path):
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE theirs (x)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(NotAStore, match="some other program"):
        await open_store()
    assert path.read_bytes() == before


async def test_a_newer_schema_is_refused_and_left_alone(open_store, path):
    await fill(await open_store())
    with sqlite3.connect(path) as newer:
        newer.execute("PRAGMA user_version=99")
    newer.close()
    before = path.read_bytes()
    with pytest.raises(SchemaTooNew, match=r"newer Steersman \(schema 99"):
        await open_store()
    assert path.read_bytes() == before


async def test_an_older_schema_is_migrated_and_keeps_its_keys(open_store, path, monkeypatch):
    await fill(await open_store())
    newer = (*MIGRATIONS, "CREATE TABLE added (x); INSERT INTO added SELECT count(*) FROM latest;")
    connect = files.connect_writer
    monkeypatch.setattr(files, "connect_writer", lambda path: connect(path, migrations=newer))
    store = await open_store()
    assert len((await store.range("/a/")).kvs) == 3
    await store.close()
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT x FROM added").fetchall() == [(3,)]
        assert connection.execute("PRAGMA user_version").fetchone() == (len(newer),)
    connection.close()


async def test_a_migration_that_fails_leaves_the_file_as_it_was(open_store, path, monkeypatch):
    await fill(await open_store())
    connect = files.connect_writer
    broken = (*MIGRATIONS, "CREATE TABLE added (x); INSERT INTO nowhere VALUES (1);")
    with monkeypatch.context() as patched:
        patched.setattr(files, "connect_writer", lambda path: connect(path, migrations=broken))
        with pytest.raises(StoreNotWritable):
            await open_store()
    assert len((await (await open_store()).range("/a/")).kvs) == 3


async def test_a_damaged_file_is_named_so(open_store, path):
    await fill(await open_store(), keys=200)
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(path.stat().st_size - 4096))
    with pytest.raises(CorruptStore, match="damaged"):
        await open_store()


async def test_a_missing_folder_is_named_so(tmp_path, clock):
    with pytest.raises(StoreNotWritable, match="No such file"):
        await SqliteStore.open(tmp_path / "none" / "store.db", clock=clock)


async def test_a_folder_that_cannot_be_written_is_named_so(open_store, monkeypatch):
    def refuse(*_args, **_kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(StoreNotWritable, match="Permission denied"):
        await open_store()


async def test_a_path_that_is_a_folder_is_named_so(path, open_store):
    path.mkdir()
    with pytest.raises(StoreNotWritable, match="directory"):
        await open_store()


async def test_a_refused_file_can_be_replaced_and_opened(open_store, path):
    path.write_text("not a database, and long enough to be taken for one " * 50)
    with pytest.raises(NotAStore):
        await open_store()
    path.unlink()
    assert (await open_store()).revision == 0


async def test_a_copy_of_a_running_store_with_its_log_opens_at_what_was_acknowledged(open_store, path, tmp_path, clock):
    store = await open_store()
    for n in range(50):
        await store.txn([Put(f"/a/{n}", b"1")])
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("store.db", "store.db-wal", "store.db-ack"):
        shutil.copy(path.parent / name, copy / name)
    other = await SqliteStore.open(copy / "store.db", clock=clock)
    assert other.revision == 50
    await other.close()


def test_the_application_id_spells_the_name():
    assert APPLICATION_ID.to_bytes(4, "big") == b"Strs"
