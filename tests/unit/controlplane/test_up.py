"""What a user is told."""

import pytest
import yaml

from steersman.controlplane.options import APIServerOptions, OptionError
from steersman.controlplane.up import up


async def test_the_way_to_reach_it_is_printed(tmp_path, capsys):
    server = await up(APIServerOptions(ephemeral=True, secure_port=0, data_dir=tmp_path), merge=False, begun_seconds=0)
    ready, export = capsys.readouterr().out.splitlines()
    assert f" is ready at {server.url} after " in ready
    assert export == f"export KUBECONFIG={tmp_path}/admin.kubeconfig"
    await server.stop()


async def test_the_context_is_merged_where_asked(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "mine"))
    server = await up(APIServerOptions(ephemeral=True, secure_port=0, data_dir=tmp_path), merge=True, begun_seconds=0)
    assert str(tmp_path / "mine") in capsys.readouterr().out
    assert yaml.safe_load((tmp_path / "mine").read_text())["current-context"] == "steersman"
    await server.stop()


async def test_a_kubeconfig_that_cannot_be_merged_into_stops_the_start(tmp_path, monkeypatch):
    (tmp_path / "mine").write_text("[]")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "mine"))
    (tmp_path / "mine").write_text("[1]")
    with pytest.raises(OptionError, match="--merge"):
        await up(APIServerOptions(ephemeral=True, secure_port=0, data_dir=tmp_path), merge=True, begun_seconds=0)
