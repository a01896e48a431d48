from __future__ import annotations

import marshal
import os
import select
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from tests.busy_machine import HANG_SECONDS

from steersman.storage.sqlite import StoreLocked, child
from steersman.storage.sqlite.child import Child
from steersman.storage.sqlite.database import connect_writer
from steersman.storage.sqlite.lock import FileLock

INSERT = marshal.dumps((0, [], [("INSERT INTO lease VALUES (?, 1, 1.0)", (7,))], 0))
#: The answer to one frame that is durable.
DONE = b"\1\0\0\0" + bytes(4)
FRAME = len(INSERT).to_bytes(4, "little") + INSERT

#: Starts a process that writes, prints its number, and waits to be killed.
PARENT = """
import pathlib, sys
from steersman.storage.sqlite.child import Child
from steersman.storage.sqlite.lock import FileLock
path = pathlib.Path(sys.argv[1])
child = Child.start(path, FileLock.take(path).descriptor)
print(child.process.pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def lock(new_file, path):
    del new_file
    lock = FileLock.take(path)
    yield lock
    lock.release()


@pytest.fixture
def started(path, lock):
    child = Child.start(path, lock.descriptor)
    child.socket.settimeout(20)
    os.set_blocking(child.answers, True)
    yield child
    child.reap()


def leases(path):
    connection = sqlite3.connect(path)
    ids = [number for (number,) in connection.execute("SELECT id FROM lease")]
    connection.close()
    return ids


def test_child_persists_writes_and_ends_on_request(started, path):
    started.socket.sendall(FRAME)
    assert os.read(started.answers, 8) == DONE
    started.end()
    assert started.process.returncode == 0
    assert sorted(part.name for part in path.parent.iterdir()) == ["store.db", "store.db-ack", "store.db.lock"]
    assert leases(path) == [7]


def test_child_persists_earlier_writes_before_it_ends(started, path):
    started.socket.sendall(FRAME)
    started.end()
    assert leases(path) == [7]


def test_child_ignores_a_partial_batch(started, path):
    started.socket.sendall(FRAME[:-3])
    started.reap()
    assert leases(path) == []


def test_child_writes_nothing_after_reap(started, path):
    assert started.reap() == -signal.SIGKILL
    assert started.reap() == -signal.SIGKILL
    assert leases(path) == []


def test_child_ignores_signals_of_the_terminal(started):
    started.socket.sendall(FRAME)
    assert os.read(started.answers, 8) == DONE
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        started.process.send_signal(number)
    started.socket.sendall(FRAME)
    assert b"UNIQUE" in os.read(started.answers, 4096)
    assert os.getsid(started.process.pid) == started.process.pid


def test_child_ends_when_it_cannot_open_the_file(tmp_path, lock, capfd):
    missing = Child.start(tmp_path / "none" / "store.db", lock.descriptor)
    os.set_blocking(missing.answers, True)
    assert os.read(missing.answers, 4) == b""
    assert missing.process.wait() == 1
    assert missing.reap() == 1
    assert "unable to open database file" in capfd.readouterr().err


def test_start_closes_descriptors_when_it_fails(path, lock, monkeypatch):
    before = set(Path("/proc/self/fd").iterdir())
    monkeypatch.setattr(sys, "executable", "/none/such/python")
    with pytest.raises(OSError, match="No such file"):
        Child.start(path, lock.descriptor)
    assert set(Path("/proc/self/fd").iterdir()) <= before  # a garbage collection may close others


def test_child_ends_with_a_killed_parent_and_releases_the_file(path):
    connect_writer(path).close()
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as parent:
        process = os.pidfd_open(int(parent.stdout.readline()))
        with pytest.raises(StoreLocked, match=f"process {parent.pid}"):
            FileLock.take(path)
        parent.kill()
        os.waitid(os.P_PID, parent.pid, os.WEXITED | os.WNOWAIT)  # dead, but not reaped yet
        FileLock.take(path).release()
    ended, _, _ = select.select([process], [], [], HANG_SECONDS)
    os.close(process)
    assert ended


def test_end_kills_after_the_timeout(started, monkeypatch):
    monkeypatch.setattr(child, "_END_SECONDS", 0.01)
    started.process.send_signal(signal.SIGSTOP)
    started.end()
    assert started.process.returncode == -signal.SIGKILL
