import os
import socket
import subprocess
import sys
from itertools import cycle
from pathlib import Path

from scripts import ports
from scripts.ports import free_port


def test_free_port_can_be_listened_on_and_is_not_given_to_connections():
    port = free_port()
    with socket.create_server(("127.0.0.1", port)) as server, socket.create_connection(server.getsockname()) as client:
        assert port < client.getsockname()[1]


def test_free_port_is_not_one_in_use(monkeypatch):
    port = free_port()
    monkeypatch.setattr(ports, "_ports_of", lambda _pid: cycle([port, port + 1]))
    with socket.create_server(("127.0.0.1", port)):
        assert free_port() == port + 1


def test_free_port_is_not_returned_again_before_all_others():
    assert len({free_port() for _ in range(200)}) == 200


def test_processes_have_ports_of_their_own():
    program = "from scripts.ports import free_port; print(free_port())"
    output = subprocess.check_output([sys.executable, "-c", program], cwd=Path(__file__).parents[3], text=True)
    assert int(output) // 500 != free_port() // 500


def test_forked_process_has_ports_of_its_own(monkeypatch):
    port = free_port()
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert free_port() // 500 != port // 500
