from __future__ import annotations

import asyncio

import pytest
from tests.unit.cli.stores import write

from steersman.cli.main import main


@pytest.fixture
def directory(tmp_path):
    asyncio.run(write(tmp_path))
    return tmp_path


def test_repair_changes_nothing_until_data_loss_is_accepted(directory, capsys):
    assert main(["repair", "--data-dir", str(directory)]) == 0
    assert "sound; nothing to repair" in capsys.readouterr().out
    store = directory / "state.db"
    data = store.read_bytes().replace(b'"ConfigMap"', b'"ConfigMaq"')
    store.write_bytes(data)
    assert main(["repair", "--data-dir", str(directory)]) == 1
    out = capsys.readouterr().out
    assert "lost: /registry/configmaps/ns/one" in out
    assert "--accept-data-loss" in out
    assert store.read_bytes() == data
    assert main(["repair", "--data-dir", str(directory), "--accept-data-loss"]) == 0
    assert "continues at revision 2097152" in capsys.readouterr().out
    assert main(["check", "--data-dir", str(directory)]) == 0
    assert [part.read_bytes() == data for part in directory.glob("state.db.damaged-*Z")] == [True]
