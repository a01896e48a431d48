"""What a user is told."""

import pytest
import yaml

from steersman.controlplane.options import APIServerOptions, OptionError
from steersman.controlplane.running_planes import running_directory, running_planes
from steersman.controlplane.up import up


async def test_the_way_to_reach_it_is_printed(tmp_path, capsys):
    running = await up(APIServerOptions(ephemeral=True, secure_port=0, data_dir=tmp_path), merge=False, begun_seconds=0)
    ready, export = capsys.readouterr().out.splitlines()
    assert f" is ready at {running.server.url} after " in ready
    assert export == f"export KUBECONFIG={tmp_path}/admin.kubeconfig"
    await running.stop()


async def test_the_context_is_merged_where_asked(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "mine"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    options = APIServerOptions(ephemeral=True, secure_port=0, data_dir=tmp_path / "data", name="dev")
    server = await up(options, merge=True, begun_seconds=0)
    assert str(tmp_path / "mine") in capsys.readouterr().out
    assert yaml.safe_load((tmp_path / "mine").read_text())["current-context"] == "steersman-dev"
    await server.stop()
    assert not (tmp_path / "mine").exists()


async def test_a_name_that_runs_already_is_refused(tmp_path, monkeypatch):
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


async def test_a_kubeconfig_that_cannot_be_merged_into_stops_the_start(tmp_path, monkeypatch):
    (tmp_path / "mine").write_text("[]")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "mine"))
    (tmp_path / "mine").write_text("[1]")
    with pytest.raises(OptionError, match="--merge"):
        await up(APIServerOptions(ephemeral=True, secure_port=0, data_dir=tmp_path), merge=True, begun_seconds=0)


async def test_it_can_be_found_while_it_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    options = APIServerOptions(secure_port=0, data_dir=tmp_path / "data")
    running = await up(options, merge=False, begun_seconds=0, announces=True)
    [plane] = running_planes(running_directory())
    assert (plane.url, plane.data_dir, plane.is_whole) == (running.server.url, str(tmp_path / "data"), False)
    await running.stop()
    assert running_planes(running_directory()) == []


async def test_where_it_cannot_be_announced_it_runs_all_the_same(tmp_path, monkeypatch, caplog):
    (tmp_path / "steersman").write_text("a file where a directory is to be")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    options = APIServerOptions(ephemeral=True, secure_port=0, data_dir=tmp_path / "data")
    running = await up(options, merge=False, begun_seconds=0, announces=True)
    assert "steersman status will not know of this" in caplog.text
    await running.stop()
