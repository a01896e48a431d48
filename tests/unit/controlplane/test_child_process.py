"""The socket between a parent and a command of ours."""

from __future__ import annotations

import socket

from steersman.controlplane.child_process import ChildProcess, receive_arguments


def test_receive_arguments_returns_none_when_the_parent_has_ended():
    ours, theirs = socket.socketpair()
    ours.sendall(b'["--v')
    ours.close()
    with theirs:
        assert receive_arguments(theirs.fileno()) is None


def test_receive_arguments_joins_what_arrives_in_pieces():
    ours, theirs = socket.socketpair()
    long = "x" * 10_000
    with ours, theirs:
        ours.sendall(f'["--v=1", "{long}"]\n'.encode())
        assert receive_arguments(theirs.fileno()) == ["--v=1", long]


def test_child_process_ends_with_code_0_when_its_parent_closes_the_socket():
    child = ChildProcess.spawn("components")
    child.socket.close()
    assert child.process.wait() == 0


def test_child_process_send_arguments_ignores_a_process_that_has_ended():
    child = ChildProcess.spawn("components")
    child.process.kill()
    child.process.wait()
    child.send_arguments(["--v=1"])
    child.kill()
    child.kill()
