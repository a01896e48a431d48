"""On real files, in this process: what the process that writes does with what it is sent."""

from __future__ import annotations

import marshal
import os
import socket
import sqlite3
import threading

import pytest

from steersman.storage.sqlite import batches
from steersman.storage.sqlite.batches import POSITION_BITS, Batches
from steersman.storage.sqlite.database import connect_writer
from steersman.storage.sqlite.schema import Kind

MARK = "UPDATE mark SET revision = ? WHERE name = 'compacted'"


def created(revision, key="/a", value=b"1"):
    return (int(Kind.CREATED), revision << POSITION_BITS, key, revision, 0, value)


def replaced(revision, key="/a", value=b"2"):
    return (int(Kind.REPLACED), revision << POSITION_BITS, key, 1, 0, value)


def changes(count):
    """Return the rows of a key that is created, and changed up to a revision."""
    return [created(1), *[replaced(revision) for revision in range(2, count + 1)], reached(count)]


def reached(revision):
    return (int(Kind.REACHED), revision << POSITION_BITS, "", 0, 0, None)


class Faulty(sqlite3.Connection):
    """Connection that raises after executing a statement with this start, unless configured to raise before."""

    fails = ""
    carries_out = True

    def execute(self, sql, *parameters):
        if self.fails and sql.startswith(self.fails):
            if self.carries_out:
                super().execute(sql, *parameters)
            raise sqlite3.OperationalError("disk I/O error")
        return super().execute(sql, *parameters)


@pytest.fixture
def connection(new_file, path):
    del new_file
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, factory=Faulty)
    yield connection
    connection.close()


@pytest.fixture
def written(connection, path):
    written = Batches(connection, str(path))
    yield written
    written.close()


def keys(connection):
    return [key for (key,) in connection.execute("SELECT key FROM latest ORDER BY key")]


def test_persist_commits_rows_and_statements_together(connection, written):
    assert written.persist([created(1), created(2, "/b"), reached(2)], [(MARK, (1,))], revision=2) == ""
    assert keys(connection) == ["/a", "/b"]
    assert dict(connection.execute("SELECT name, revision FROM mark")) == {"reached": 2, "compacted": 1}


def test_persist_of_statements_only(connection, written):
    assert written.persist([], [(MARK, (7,))], revision=0) == ""
    assert dict(connection.execute("SELECT name, revision FROM mark")) == {"reached": 0, "compacted": 7}


def test_persist_rolls_a_failed_batch_back(connection, written):
    error = written.persist([created(1), created(2), reached(2)], [], revision=2)
    assert "UNIQUE" in error
    assert keys(connection) == []
    assert written.persist([created(3), reached(3)], [], revision=3) == ""
    assert keys(connection) == ["/a"]


def test_persist_reports_values_that_no_row_can_hold(connection, written):
    assert "surrogates not allowed" in written.persist([created(1, "/\ud800"), reached(1)], [], revision=1)
    assert keys(connection) == []


def test_persist_accepts_a_commit_that_reported_an_error(connection, written):
    connection.fails = "COMMIT"
    assert written.persist([created(1), reached(1)], [], revision=1) == ""
    assert keys(connection) == ["/a"]


def test_persist_rolls_a_failed_commit_back(connection, written, path):
    connection.fails, connection.carries_out = "COMMIT", False
    assert written.persist([created(1), reached(1)], [], revision=1).startswith(
        f"disk I/O error (in {path.parent}, where "
    )
    connection.fails = ""
    assert keys(connection) == []


def test_persist_fails_when_the_file_is_unreadable(connection, written):
    connection.close()
    assert "closed database" in written.persist([created(1), reached(1)], [], revision=1)


def test_forget_some_deletes_history_in_steps(connection, written):
    assert written.persist(changes(500), [], revision=500) == ""
    assert not written.forget_some()
    written.forget(451 << POSITION_BITS)
    assert written.forget_some()
    assert written.forget_some()
    assert not written.forget_some()
    assert connection.execute("SELECT count(*), min(id) FROM history").fetchone() == (50, 451 << POSITION_BITS)


def test_forget_some_keeps_rows_after_an_error(connection, written):
    assert written.persist(changes(2), [], revision=2) == ""
    written.forget(3 << POSITION_BITS)
    connection.fails, connection.carries_out = "DELETE", False
    assert not written.forget_some()
    connection.fails = ""
    assert connection.execute("SELECT count(*) FROM history").fetchone() == (1,)


def test_connection_is_durable(path):
    connect_writer(path).close()
    connection = batches.connect(str(path))
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    connection.close()


# Over a socket.


def frame(message):
    data = marshal.dumps(message)
    return len(data).to_bytes(4, "little") + data


@pytest.fixture
def served(written):
    """A socket to a thread that serves, and how it ended."""
    ours, theirs = socket.socketpair()
    stream, ends = batches.Stream(theirs.fileno(), theirs.fileno()), []

    def serve():
        batches.serve(stream, written)
        ends.append(stream.is_end_requested)

    thread = threading.Thread(target=serve)
    ours.settimeout(10)
    thread.start()
    yield ours, ends, thread
    ours.close()
    thread.join()
    theirs.close()


def writes(revision, key="/a", *, epoch=0, value=b"1"):
    return frame((epoch, [created(revision, key, value), reached(revision)], [], revision, 9))


def answer(sock):
    """Return the number of frames and the error."""
    head = sock.recv(8, socket.MSG_WAITALL)
    return int.from_bytes(head[:4], "little"), sock.recv(int.from_bytes(head[4:], "little")).decode()


def test_serve_reports_results_of_writes(served, connection):
    sock, ends, thread = served
    sock.sendall(writes(1))
    assert answer(sock) == (1, "")
    sock.sendall(writes(2, "/b"))
    assert answer(sock) == (1, "")
    sock.sendall(bytes(4))
    thread.join()
    assert ends == [True]
    assert keys(connection) == ["/a", "/b"]


def test_serve_commits_waiting_writes_together(served, connection):
    sock, _, _ = served
    sock.sendall(writes(1, "/a") + writes(2, "/b") + frame((0, [], [(MARK, (1,))], 0, 9)) + writes(3, "/c"))
    assert answer(sock) == (4, "")
    assert keys(connection) == ["/a", "/b", "/c"]
    assert dict(connection.execute("SELECT name, revision FROM mark")) == {"reached": 3, "compacted": 1}


def test_serve_bounds_the_rows_of_a_commit(served):
    sock, _, _ = served
    sock.sendall(b"".join(writes(revision, f"/{revision}") for revision in range(1, 301)))
    assert answer(sock) == (128, "")
    assert answer(sock) == (128, "")
    assert answer(sock) == (44, "")


def test_serve_drops_writes_of_the_failed_epoch(served, connection):
    sock, _, _ = served
    sock.sendall(writes(1))
    assert answer(sock) == (1, "")
    sock.sendall(writes(2))
    frames, error = answer(sock)
    assert (frames, "UNIQUE" in error) == (1, True)
    sock.sendall(writes(3, "/b") + writes(4, "/c") + writes(5, "/d", epoch=1))
    assert answer(sock) == (1, "")
    assert keys(connection) == ["/a", "/d"]


def test_serve_reads_a_frame_in_parts(served, connection):
    sock, _, _ = served
    value = os.urandom(3_000_000)
    sock.sendall(writes(1, value=value))
    assert answer(sock) == (1, "")
    assert connection.execute("SELECT value FROM latest").fetchone() == (value,)


def test_serve_deletes_one_step_of_history_after_each_message(served, connection):
    sock, ends, thread = served
    sock.sendall(frame((0, changes(500), [], 500, 9)) + frame(501 << POSITION_BITS) + frame(501 << POSITION_BITS))
    sock.sendall(frame((0, [], [(MARK, (500,))], 0, 9)))
    assert answer(sock) == (1, "")
    assert answer(sock) == (1, "")
    sock.sendall(bytes(4))
    thread.join()
    assert ends == [True]
    assert connection.execute("SELECT count(*) FROM history").fetchone() == (0,)


@pytest.mark.parametrize("part", [b"", b"\1\0", writes(1)[:-1]])
def test_serve_ends_with_the_stream_without_partial_writes(served, connection, part):
    sock, ends, thread = served
    sock.sendall(part)
    sock.shutdown(socket.SHUT_WR)
    thread.join()
    assert ends == [False]
    assert keys(connection) == []


def test_upkeep_shrinks_the_file_and_keeps_its_contents(connection, written, path):
    value = os.urandom(100_000)
    assert written.persist([created(n, f"/{n}", value) for n in range(1, 301)], [], revision=300) == ""
    removed = [(int(Kind.REMOVED), (300 + n) << POSITION_BITS, f"/{n}", n, 0, None) for n in range(1, 300)]
    assert written.persist(removed, [], revision=599) == ""
    written.forget(599 << POSITION_BITS)
    while written.forget_some():
        pass
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    before = path.stat().st_size
    assert written.has_upkeep
    written.upkeep()
    assert not written.has_upkeep
    assert path.stat().st_size < before / 10
    assert connection.execute("SELECT key, value FROM latest").fetchall() == [("/300", value)]
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_upkeep_keeps_a_file_with_few_free_pages(connection, written, path):
    assert written.persist(changes(500), [], revision=500) == ""
    written.forget(501 << POSITION_BITS)
    while written.forget_some():
        pass
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    before = path.read_bytes()
    written.upkeep()
    assert path.read_bytes() == before
