"""Profiles on a Unix socket."""

import asyncio
import socket
import stat

import pytest
from tests.unit.listening import hang_up

from steersman.asynckit.clock import FakeClock
from steersman.controlplane.apiserver import APIServer
from steersman.controlplane.debug_socket import DebugSocket
from steersman.controlplane.options import APIServerOptions, OptionError


async def ask(path, request):
    reader, writer = await asyncio.open_unix_connection(path)
    writer.write(f"{request} HTTP/1.1\r\nContent-Length: 1\r\n\r\n2".encode())
    answer = await reader.read()
    await hang_up(writer)
    return answer


async def test_pages_are_served_to_this_user_until_the_end(tmp_path, monkeypatch):
    verbosities = []
    monkeypatch.setattr("steersman.runtime.debug_flags.set_verbosity", verbosities.append)
    path = tmp_path / "debug"
    debug = DebugSocket(path, clock=FakeClock(), on_verbosity=lambda: verbosities.append("changed"))
    await debug.start()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert b"thread MainThread" in await ask(path, "GET /debug/pprof/goroutine")
    assert (await ask(path, "PUT /debug/flags/v")).startswith(b"HTTP/1.1 200")
    assert verbosities == [2, "changed"]
    await debug.stop()
    assert not path.exists()


async def test_socket_that_an_earlier_process_has_left_is_replaced(tmp_path):
    path = tmp_path / "debug"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    debug = DebugSocket(path, clock=FakeClock(), on_verbosity=lambda: None)
    await debug.start()
    assert (await ask(path, "GET /debug/flags")).startswith(b"HTTP/1.1 200")
    await debug.stop()


@pytest.mark.parametrize("name", ["file", "missing/debug", "file/debug"])
async def test_path_that_cannot_be_bound_is_refused_and_no_file_removed(tmp_path, name):
    (tmp_path / "file").write_text("precious")
    debug = DebugSocket(tmp_path / name, clock=FakeClock(), on_verbosity=lambda: None)
    with pytest.raises(OptionError, match=r"^--debug-socket-path: "):
        await debug.start()
    await debug.stop()
    assert (tmp_path / "file").read_text() == "precious"


async def test_server_serves_the_socket_while_it_runs(tmp_path):
    path = tmp_path / "debug"
    options = APIServerOptions(ephemeral=True, secure_port=0, data_dir=tmp_path / "data", debug_socket_path=path)
    server = await APIServer.start(options)
    assert (await ask(path, "GET /debug/pprof/cmdline")).startswith(b"HTTP/1.1 200")
    await server.stop()
    assert not path.exists()
