"""Output of steersman up."""

import asyncio
import socket
import subprocess
import sys
import tempfile

import pytest
import yaml

from steersman.asynckit.clock import FakeClock, RealClock
from steersman.controlplane import up as up_module
from steersman.controlplane.apiserver import APIServer
from steersman.controlplane.child_process import ChildProcess
from steersman.controlplane.children import ChildFailedError
from steersman.controlplane.options import APIServerOptions, OptionError
from steersman.controlplane.process import StartError
from steersman.controlplane.running_planes import running_directory, running_planes
from steersman.controlplane.up import ComponentOptions, ControlPlane, hardened, up, wait_until_ready


async def test_up_prints_the_access_lines(tmp_path, capsys):
    running = await up(APIServerOptions(ephemeral=True, secure_port=0, data_dir=tmp_path), merge=False, begun_seconds=0)
    ready, export = capsys.readouterr().out.splitlines()
    assert f" is ready at {running.server.url} after " in ready
    assert export == f"export KUBECONFIG={tmp_path}/admin.kubeconfig"
    await running.stop()


async def test_up_merges_the_context(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "mine"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    options = APIServerOptions(ephemeral=True, secure_port=0, data_dir=tmp_path / "data", name="dev")
    server = await up(options, merge=True, begun_seconds=0)
    assert str(tmp_path / "mine") in capsys.readouterr().out
    assert yaml.safe_load((tmp_path / "mine").read_text())["current-context"] == "steersman-dev"
    await server.stop()
    assert not (tmp_path / "mine").exists()


async def test_up_rejects_a_running_name(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    options = APIServerOptions(ephemeral=True, secure_port=0, name="dev")
    running = await up(options, merge=False, begun_seconds=0, announces=True)
    [plane] = running_planes(running_directory())
    assert plane.name == "dev"
    with pytest.raises(OptionError, match="--name: a control plane named 'dev' runs already"):
        await up(options, merge=False, begun_seconds=0)
    other = await up(APIServerOptions(ephemeral=True, secure_port=0, name="other"), merge=False, begun_seconds=0)
    await other.stop()
    await running.stop()


async def test_up_fails_for_an_unmergeable_kubeconfig(tmp_path, monkeypatch):
    (tmp_path / "mine").write_text("[]")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "mine"))
    (tmp_path / "mine").write_text("[1]")
    with pytest.raises(OptionError, match="--merge"):
        await up(APIServerOptions(ephemeral=True, secure_port=0, data_dir=tmp_path), merge=True, begun_seconds=0)


async def test_up_announces_the_control_plane_while_it_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    options = APIServerOptions(secure_port=0, data_dir=tmp_path / "data")
    running = await up(options, merge=False, begun_seconds=0, announces=True)
    [plane] = running_planes(running_directory())
    assert (plane.url, plane.data_dir, plane.is_whole) == (running.server.url, str(tmp_path / "data"), False)
    await running.stop()
    assert running_planes(running_directory()) == []


async def test_up_runs_without_announcement(tmp_path, monkeypatch, caplog):
    (tmp_path / "steersman").write_text("a file where a directory is to be")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    options = APIServerOptions(ephemeral=True, secure_port=0, data_dir=tmp_path / "data")
    running = await up(options, merge=False, begun_seconds=0, announces=True)
    assert "steersman status will not know of this" in caplog.text
    await running.stop()


class StoppingChild:
    """Components that record the readiness of the server while they stop."""

    def __init__(self, server):
        self._server = server
        self.readyz_code = 0

    async def stop(self):
        self.readyz_code = (await self._server._core.client.request("GET", "/readyz")).code


async def test_readyz_fails_while_the_components_stop(tmp_path):
    server = await APIServer.start(in_memory(tmp_path))
    child = StoppingChild(server)
    await ControlPlane(server, child).stop()
    assert child.readyz_code == 500


class WaitingChild:
    """A child whose readiness a test decides."""

    waiting_for = "the moon"

    def __init__(self):
        self.ready = asyncio.get_running_loop().create_future()

    async def wait_ready(self):
        return await asyncio.shield(self.ready)


async def test_wait_until_ready_returns_the_node_without_a_word(capsys):
    child = WaitingChild()
    child.ready.set_result("node-0")
    assert await wait_until_ready(child, clock=FakeClock()) == "node-0"
    assert capsys.readouterr().err == ""


async def test_wait_until_ready_names_the_pending_step_of_a_slow_start(capsys):
    child, clock = WaitingChild(), FakeClock()
    waits = asyncio.ensure_future(wait_until_ready(child, clock=clock))
    await clock.advance(5)
    assert capsys.readouterr().err == "steersman: not ready after 5 s, waiting for the moon\n"
    assert not waits.done()
    child.ready.set_result("node-0")
    assert await waits == "node-0"


async def test_wait_until_ready_gives_up():
    clock = FakeClock()
    waits = asyncio.ensure_future(wait_until_ready(WaitingChild(), clock=clock))
    await clock.advance(5)
    await clock.advance(115)
    with pytest.raises(StartError, match="not ready within 120 s, still waiting for the moon; --wait=false"):
        await waits


async def test_wait_until_ready_raises_when_the_components_fail():
    child = WaitingChild()
    child.ready.set_exception(ChildFailedError("the components process ended 3 times"))
    with pytest.raises(StartError, match="ended 3 times"):
        await wait_until_ready(child, clock=FakeClock())


@pytest.mark.parametrize(
    ("controllers", "makes"),
    [(("*",), True), (("serviceaccount",), True), (("*", "-serviceaccount-controller"), False), (("job",), False)],
)
def test_service_accounts_follow_the_controllers_flag(controllers, makes):
    assert ComponentOptions(controllers=controllers).makes_service_accounts is makes


SILENT = "import os, sys; os.read(int(sys.argv[1]), 9999); os.read(int(sys.argv[1]), 1)"
READY = f"import os, sys; os.write(int(sys.argv[1]), b'ready node-0\\n'); {SILENT}"


@pytest.fixture
def spawns(monkeypatch):
    """``spawns(code)``: the components are a process that runs it; returns the list of processes."""
    processes = []

    def use(code):
        def spawn():
            ours, theirs = socket.socketpair()
            with theirs:
                command = [sys.executable, "-c", code, str(theirs.fileno())]
                processes.append(subprocess.Popen(command, pass_fds=[theirs.fileno()]))
            return ChildProcess(processes[-1], ours)

        monkeypatch.setattr(up_module, "_spawn", spawn)
        return processes

    return use


def in_memory(tmp_path):
    return APIServerOptions(ephemeral=True, secure_port=0, data_dir=tmp_path / "data")


async def test_up_is_ready_when_its_components_are(tmp_path, capsys, spawns):
    spawns(READY)
    running = await up(in_memory(tmp_path), merge=False, begun_seconds=0, components=ComponentOptions())
    ready, export, node, *_ = capsys.readouterr().out.splitlines()
    assert " is ready at " in ready
    assert export.startswith("export KUBECONFIG=")
    assert node.startswith("node node-0 is Ready after ")
    account = await running.server._core.client.request("GET", "/api/v1/namespaces/default/serviceaccounts/default")
    assert account.code == 200
    await running.stop()


async def test_up_does_not_wait_for_components_with_wait_false(tmp_path, capsys, spawns):
    spawns(SILENT)
    running = await up(in_memory(tmp_path), merge=False, begun_seconds=0, components=ComponentOptions(wait=False))
    assert len(capsys.readouterr().out.splitlines()) == 2
    await running.stop()


async def test_up_prints_ready_message_later_with_wait_false(tmp_path, capsys, spawns):
    spawns(READY)
    running = await up(in_memory(tmp_path), merge=False, begun_seconds=0, components=ComponentOptions(wait=False))
    printed = capsys.readouterr().out
    while "node node-0 is Ready after" not in printed:
        await RealClock().sleep(0.01)
        printed += capsys.readouterr().out
    assert printed.splitlines()[2].startswith("node node-0 is Ready after")
    await running.stop()


async def test_up_cleans_up_when_cancelled_while_it_waits(tmp_path, monkeypatch, spawns):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    processes = spawns(SILENT)
    options = APIServerOptions(ephemeral=True, secure_port=0)
    waiting = asyncio.Event()

    async def wait(child, *, clock):
        waiting.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(up_module, "wait_until_ready", wait)
    starting = asyncio.ensure_future(
        up(options, merge=False, begun_seconds=0, components=ComponentOptions(), announces=True)
    )
    await waiting.wait()
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert processes[0].returncode is not None
    assert running_planes(running_directory()) == []
    assert list(tmp_path.glob("steersman-*")) == []


async def test_up_ends_the_spawned_process_when_the_server_cannot_start(tmp_path, spawns):
    processes = spawns(SILENT)
    options = APIServerOptions(ephemeral=True, secure_port=0, data_dir=tmp_path, endpoint_reconciler_type="nope")
    with pytest.raises(OptionError):
        await up(options, merge=False, begun_seconds=0, components=ComponentOptions())
    assert processes[0].returncode is not None


def test_hardened_adds_noderestriction_to_the_enabled_plugins():
    options = APIServerOptions(enable_admission_plugins=("AlwaysPullImages",))
    assert hardened(options).enable_admission_plugins == ("AlwaysPullImages", "NodeRestriction")


def test_hardened_has_noderestriction_once_when_it_is_enabled():
    options = APIServerOptions(enable_admission_plugins=("NodeRestriction",))
    assert hardened(options) == options


def test_hardened_leaves_noderestriction_off_when_it_is_disabled():
    options = APIServerOptions(disable_admission_plugins=("NodeRestriction",))
    assert hardened(options) == options
