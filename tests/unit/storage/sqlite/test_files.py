from __future__ import annotations

import sqlite3
import sys

import pytest

from steersman.storage.sqlite import StoreNotWritable, files
from steersman.storage.sqlite.files import Files
from steersman.storage.store import Put, Unavailable


async def test_reads_share_few_connections(open_store):
    store = await open_store()
    await store.txn([Put("/a", b"1")])
    names = set()

    def name(reader):
        names.add(id(reader))

    for _ in range(20):
        await store._files.read_in_thread(name)
    assert len(names) <= 2
    assert id(store._files.inline) not in names


async def test_a_failed_read_gives_its_connection_back(open_store):
    store = await open_store()

    def fail(_reader):
        raise sqlite3.OperationalError("disk I/O error")

    for _ in range(5):
        with pytest.raises(Unavailable, match=r"store\.db: disk I/O error"):
            await store._files.read_in_thread(fail)
    assert (await store.range("/")).count == 0


def test_an_opening_that_fails_half_way_leaves_nothing_open(path, monkeypatch):
    def fail(_path):
        raise sqlite3.OperationalError("unable to open database file")

    with monkeypatch.context() as patched:
        patched.setattr(files, "connect_reader", fail)
        with pytest.raises(StoreNotWritable):
            Files.open(path)
    opened, contents, child = Files.open(path)
    assert contents.revision == 0
    opened.close_readers()
    child.end()
    opened.release()


def test_a_file_that_no_process_could_write_is_not_opened(path, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(sys, "executable", "/none/such/python")
        with pytest.raises(StoreNotWritable, match="no process to write it: No such file"):
            Files.open(path)
    opened, _, child = Files.open(path)
    opened.close_readers()
    child.end()
    opened.release()


async def test_a_file_that_cannot_be_read_is_at_no_revision(open_store):
    store = await open_store()
    await store.txn([Put("/a", b"1")])
    assert store._files.reached({}) == 1
    store._files.inline.close()
    assert store._files.reached({}) == 0
