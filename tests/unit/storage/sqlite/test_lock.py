from __future__ import annotations

import os
import subprocess
import sys

import pytest

from steersman.storage.sqlite import StoreLocked
from steersman.storage.sqlite.lock import FileLock
from steersman.storage.store import Put

HOLD = """
import sys, pathlib
from steersman.storage.sqlite.lock import FileLock
lock = FileLock.take(pathlib.Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


async def test_a_second_opener_is_refused_with_the_holders_pid(open_store):
    store = await open_store()
    await store.txn([Put("/a", b"1")])
    with pytest.raises(StoreLocked, match=f"in use by process {os.getpid()}") as caught:
        await open_store()
    assert caught.value.pid == os.getpid()
    assert await store.txn([Put("/a", b"2")]) == 2


async def test_after_close_the_next_may_open(open_store):
    await (await open_store()).close()
    assert (await open_store()).revision == 0


def test_the_lock_of_another_process_ends_with_its_life(path):
    child = subprocess.Popen([sys.executable, "-c", HOLD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with child:
        child.stdout.readline()
        with pytest.raises(StoreLocked, match=f"process {child.pid}"):
            FileLock.take(path)
        child.kill()
    FileLock.take(path).release()


def test_a_holder_without_a_pid_is_just_another_process(path):
    lock = FileLock.take(path)
    path.with_name("store.db.lock").write_text("")
    with pytest.raises(StoreLocked, match="another process"):
        FileLock.take(path)
    lock.release()
    lock.release()
