from __future__ import annotations

import sqlite3
import sys

import pytest

from steersman.storage.sqlite import StoreNotWritable, files
from steersman.storage.sqlite.files import Files
from steersman.storage.store import Put, Unavailable


async def test_read_in_thread_shares_few_connections(open_store):
    store = await open_store()
    await store.txn([Put("/a", b"1")])
    names = set()

    def name(reader):
        names.add(id(reader))

    for _ in range(20):
        await store._files.read_in_thread(name)
    assert len(names) <= 2
    assert id(store._files.inline) not in names


async def test_read_in_thread_returns_its_connection_after_an_error(open_store):
    store = await open_store()

    def fail(_reader):
        raise sqlite3.OperationalError("disk I/O error")

    for _ in range(5):
        with pytest.raises(Unavailable, match=r"store\.db: disk I/O error"):
            await store._files.read_in_thread(fail)
    assert (await store.range("/")).count == 0


@pytest.mark.interpreted
def test_open_closes_everything_when_it_fails(path, monkeypatch):
    def fail(_path):
        raise sqlite3.OperationalError("unable to open database file")

    with monkeypatch.context() as patched:
        patched.setattr(files, "connect_reader", fail)
        with pytest.raises(StoreNotWritable):
            Files.open(path, "process")
    opened, contents, child = Files.open(path, "process")
    assert contents.revision == 0
    opened.close_readers()
    child.end()
    opened.release()


def test_open_fails_when_no_writer_process_starts(path, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(sys, "executable", "/none/such/python")
        with pytest.raises(StoreNotWritable, match="no process to write it: No such file"):
            Files.open(path, "process")
    opened, _, child = Files.open(path, "process")
    opened.close_readers()
    child.end()
    opened.release()


async def test_reached_is_zero_for_an_unreadable_file(open_store):
    store = await open_store()
    await store.txn([Put("/a", b"1")])
    assert store._files.reached({}) == 1
    store._files.inline.close()
    assert store._files.reached({}) == 0
