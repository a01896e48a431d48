"""Fork server, its messages and its client."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.busy_machine import HANG_SECONDS
from tests.processes import wait_for_end

from steersman.testing.forkserver import client
from steersman.testing.forkserver.client import ForkServerError, ForkServerProcess
from steersman.testing.forkserver.messages import MESSAGE_BYTES_MAX, MessageError, Started, connection_pair, send

PROGRAM = str(Path(__file__).with_name("forkserver_program.py"))


@pytest.fixture
def server() -> Iterator[ForkServerProcess]:
    spawned = ForkServerProcess.spawn(PROGRAM)
    yield spawned
    spawned.close()


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    yield reader, writer
    os.close(reader)
    os.close(writer)


def read_all(reader: int, writer: int) -> bytes:
    os.dup2(reader, writer, inheritable=False)  # closes the writing end; the number stays taken until the fixture ends
    chunks = []
    while chunk := os.read(reader, 4096):
        chunks.append(chunk)
    return b"".join(chunks)


def test_child_receives_arguments_and_descriptors(server, pipe):
    child = server.start("write", {"text": "hello"}, descriptors=[pipe[1]])
    assert child.wait(HANG_SECONDS) == 0
    assert read_all(*pipe) == b"hello"


def test_exit_code_of_the_target_is_reported(server, pipe):
    child = server.start("write", {"text": "", "code": 3}, descriptors=[pipe[1]])
    assert child.wait(HANG_SECONDS) == 3


def test_exception_of_a_target_is_code_1_with_a_traceback(server, pipe):
    child = server.start("fail", {}, descriptors=[pipe[1]])
    assert child.wait(HANG_SECONDS) == 1
    assert b"ValueError: a planted failure" in read_all(*pipe)


def test_work_before_the_fork_runs_in_the_server_for_each_child(server, pipe):
    for _ in range(2):
        assert server.start("prepared", {"text": "hello "}, descriptors=[pipe[1]]).wait(HANG_SECONDS) == 0
    assert read_all(*pipe).decode() == 2 * f"{server.pid} hello "


def test_child_is_refused_when_the_work_before_the_fork_leaves_a_thread(server, pipe):
    with pytest.raises(ForkServerError, match="a process with 2 threads cannot fork safely"):
        server.start("prepared", {"text": "", "thread": True}, descriptors=[pipe[1]])


def test_unknown_target_is_refused(server):
    with pytest.raises(ForkServerError, match="unknown target 'nonsense'"):
        server.start("nonsense", {})


def test_directory_of_a_killed_child_is_removed(server, pipe, tmp_path):
    directory = tmp_path / "child"
    child = server.start("wait", {"directory": str(directory)}, descriptors=[pipe[1]], directory=str(directory))
    assert os.read(pipe[0], 5) == b"ready"
    assert (directory / "file").exists()
    child.kill(signal.SIGKILL)
    assert child.wait(HANG_SECONDS) == -signal.SIGKILL
    assert not directory.exists()


def test_crash_of_a_child_leaves_the_others(server, pipe, tmp_path):
    one = server.start("wait", {"directory": str(tmp_path / "1")}, descriptors=[pipe[1]])
    assert os.read(pipe[0], 5) == b"ready"
    two = server.start("wait", {"directory": str(tmp_path / "2")}, descriptors=[pipe[1]])
    assert os.read(pipe[0], 5) == b"ready"
    one.kill(signal.SIGSEGV)
    assert one.wait(HANG_SECONDS) == -signal.SIGSEGV
    assert two.wait(0) is None
    two.kill()
    assert two.wait(HANG_SECONDS) == -signal.SIGTERM


def test_child_ends_when_its_connection_closes(server, pipe, tmp_path):
    child = server.start("wait", {"directory": str(tmp_path / "1")}, descriptors=[pipe[1]])
    assert os.read(pipe[0], 5) == b"ready"
    child.release()
    assert wait_for_end(child.pid)


def test_end_kills_a_child_that_ignores_the_request(server, pipe, tmp_path):
    child = server.start("wait", {"directory": str(tmp_path / "1"), "deaf": True}, descriptors=[pipe[1]])
    assert os.read(pipe[0], 5) == b"ready"
    assert child.end(0) == -signal.SIGKILL


def test_close_ends_server_and_children_and_removes_directories(server, pipe, tmp_path):
    directory = tmp_path / "1"
    child = server.start("wait", {"directory": str(directory)}, descriptors=[pipe[1]], directory=str(directory))
    assert os.read(pipe[0], 5) == b"ready"
    server.close()
    assert wait_for_end(child.pid)
    assert not directory.exists()
    with pytest.raises(ForkServerError, match="has ended"):
        child.wait(HANG_SECONDS)
    with pytest.raises(ForkServerError, match="has ended"):
        server.start("write", {})


def test_children_end_with_a_killed_server(server, pipe, tmp_path):
    child = server.start("wait", {"directory": str(tmp_path / "1")}, descriptors=[pipe[1]])
    assert os.read(pipe[0], 5) == b"ready"
    os.kill(server.pid, signal.SIGKILL)
    assert wait_for_end(child.pid)
    assert child.end(HANG_SECONDS) == -signal.SIGKILL


def test_everything_ends_with_a_killed_client(tmp_path):
    program = textwrap.dedent(
        f"""
        import os, sys
        from steersman.testing.forkserver import client
        server = client.ForkServerProcess.spawn({PROGRAM!r})
        reader, writer = os.pipe()
        child = server.start("wait", {{"directory": {str(tmp_path / "1")!r}}}, descriptors=[writer],
                             directory={str(tmp_path / "1")!r})
        os.read(reader, 5)
        print(server.pid, child.pid, flush=True)
        sys.stdin.read()
        """
    )
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pids = [int(text) for text in process.stdout.readline().split()]
        assert len(pids) == 2
        process.kill()
    assert all(wait_for_end(pid) for pid in pids)
    assert not (tmp_path / "1").exists()


def test_process_with_threads_does_not_fork():
    program = textwrap.dedent(
        """
        import socket, threading
        from steersman.testing.forkserver.server import ForkServer
        threading.Thread(target=threading.Event().wait, daemon=True).start()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ForkServer({}, main=theirs).run()
        """
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "a process with 2 threads cannot fork safely" in done.stderr


def test_message_that_is_too_long_is_an_error():
    ours, theirs = connection_pair()
    with ours, theirs, pytest.raises(MessageError, match="too long"):
        send(ours, client.Refused("x" * MESSAGE_BYTES_MAX))
    assert Started(1).pid == 1
