from __future__ import annotations

import os
import subprocess
import sys

import pytest

from steersman.storage.sqlite import StoreLocked, lock
from steersman.storage.sqlite.lock import FileLock
from steersman.storage.store import Put

HOLD = """
import sys, pathlib
from steersman.storage.sqlite.lock import FileLock
lock = FileLock.take(pathlib.Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


async def test_take_reports_the_pid_of_the_holder(open_store):
    store = await open_store()
    await store.txn([Put("/a", b"1")])
    with pytest.raises(StoreLocked, match=f"in use by process {os.getpid()}") as caught:
        await open_store()
    assert caught.value.pid == os.getpid()
    assert await store.txn([Put("/a", b"2")]) == 2


async def test_lock_is_available_after_close(open_store):
    await (await open_store()).close()
    assert (await open_store()).revision == 0


def test_lock_is_released_when_its_process_ends(path):
    child = subprocess.Popen([sys.executable, "-c", HOLD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with child:
        child.stdout.readline()
        with pytest.raises(StoreLocked, match=f"process {child.pid}"):
            FileLock.take(path)
        child.kill()
    FileLock.take(path).release()


def test_take_reports_a_holder_without_pid(path):
    held = FileLock.take(path)
    path.with_name("store.db.lock").write_text("")
    with pytest.raises(StoreLocked, match="another process"):
        FileLock.take(path)
    held.release()
    held.release()


def test_take_waits_for_the_writer_process_of_a_dead_parent(path, monkeypatch):
    """A dead holder (here: one that never existed) leaves the lock to a process that is about to end."""
    held = FileLock.take(path)
    path.with_name("store.db.lock").write_text(str(dead_pid()))
    looks = []

    def look(_seconds):
        looks.append(1)
        if len(looks) == 3:
            held.release()

    monkeypatch.setattr(lock.time, "sleep", look)
    FileLock.take(path).release()
    assert len(looks) == 3


def test_take_bounds_the_wait_for_a_writer_process(path, monkeypatch):
    held = FileLock.take(path)
    pid = dead_pid()
    path.with_name("store.db.lock").write_text(str(pid))
    monkeypatch.setattr(lock, "_LEFTOVER_SECONDS", 0.0)
    with pytest.raises(StoreLocked, match=f"process {pid}"):
        FileLock.take(path)
    held.release()


def test_is_alive_is_true_for_an_invalid_pid(path):
    held = FileLock.take(path)
    path.with_name("store.db.lock").write_text("0")
    with pytest.raises(StoreLocked, match="process 0"):
        FileLock.take(path)
    held.release()


def test_descriptor_raises_after_release(path):
    held = FileLock.take(path)
    held.release()
    with pytest.raises(ValueError, match="not locked any more"):
        held.descriptor  # noqa: B018 — asking is what fails


def dead_pid():
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    return process.pid
