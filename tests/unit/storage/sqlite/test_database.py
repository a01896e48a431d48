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


async def test_open_creates_a_private_file(open_store, path):
    await (await open_store()).txn([Put("/a", b"1")])
    modes = {part.suffix: part.stat().st_mode & 0o777 for part in path.parent.iterdir()}
    assert set(modes.values()) == {0o600}
    assert ".db-wal" in modes


async def test_close_leaves_a_single_file(open_store, path):
    await fill(await open_store())
    assert sorted(part.name for part in path.parent.iterdir()) == ["store.db", "store.db-ack", "store.db.lock"]


async def test_open_initializes_an_empty_file(open_store, path):
    path.touch()
    assert (await open_store()).revision == 0


async def test_open_restores_written_keys(open_store):
    await fill(await open_store())
    store = await open_store()
    assert store.revision == 3
    assert [(kv.key, kv.mod_revision) for kv in (await store.range("/")).kvs] == [("/a/0", 1), ("/a/1", 2), ("/a/2", 3)]


async def test_open_rejects_a_text_file_unchanged(open_store, path):
    path.write_text("do not lose me, I am a file of some length" * 100)
    before = path.read_bytes()
    with pytest.raises(NotAStore, match="untouched"):
        await open_store()
    assert path.read_bytes() == before


async def test_open_rejects_a_foreign_database_unchanged(open_store, path):
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE theirs (x)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(NotAStore, match="some other program"):
        await open_store()
    assert path.read_bytes() == before


async def test_open_rejects_a_newer_schema_unchanged(open_store, path):
    await fill(await open_store())
    with sqlite3.connect(path) as newer:
        newer.execute("PRAGMA user_version=99")
    newer.close()
    before = path.read_bytes()
    with pytest.raises(SchemaTooNew, match=r"newer Steersman \(schema 99"):
        await open_store()
    assert path.read_bytes() == before


@pytest.mark.interpreted
async def test_open_migrates_an_older_schema(open_store, path, monkeypatch):
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


@pytest.mark.interpreted
async def test_failed_migration_leaves_the_file_unchanged(open_store, path, monkeypatch):
    await fill(await open_store())
    connect = files.connect_writer
    broken = (*MIGRATIONS, "CREATE TABLE added (x); INSERT INTO nowhere VALUES (1);")
    with monkeypatch.context() as patched:
        patched.setattr(files, "connect_writer", lambda path: connect(path, migrations=broken))
        with pytest.raises(StoreNotWritable):
            await open_store()
    assert len((await (await open_store()).range("/a/")).kvs) == 3


async def test_open_raises_corrupt_store_for_a_damaged_file(open_store, path):
    await fill(await open_store(), keys=200)
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(path.stat().st_size - 4096))
    with pytest.raises(CorruptStore, match="damaged"):
        await open_store()


async def test_open_reports_a_missing_folder(tmp_path, clock):
    with pytest.raises(StoreNotWritable, match="No such file"):
        await SqliteStore.open(tmp_path / "none" / "store.db", clock=clock)


async def test_open_reports_an_unwritable_folder(open_store, monkeypatch):
    def refuse(*_args, **_kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(StoreNotWritable, match="Permission denied"):
        await open_store()


async def test_open_reports_a_folder_as_path(path, open_store):
    path.mkdir()
    with pytest.raises(StoreNotWritable, match="directory"):
        await open_store()


async def test_open_succeeds_after_replacing_a_rejected_file(open_store, path):
    path.write_text("not a database, and long enough to be taken for one " * 50)
    with pytest.raises(NotAStore):
        await open_store()
    path.unlink()
    assert (await open_store()).revision == 0


async def test_copy_of_a_running_store_with_its_log_opens_at_the_acknowledged_revision(
    open_store, path, tmp_path, clock
):
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


def test_application_id_spells_strs():
    assert APPLICATION_ID.to_bytes(4, "big") == b"Strs"
