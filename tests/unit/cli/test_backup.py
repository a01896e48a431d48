from __future__ import annotations

import asyncio

import pytest
from tests.unit.cli.stores import write

from steersman.cli.main import main


@pytest.fixture
def directory(tmp_path):
    asyncio.run(write(tmp_path))
    return tmp_path


def test_backup_copies_the_store(directory, capsys):
    copy = directory / "copy.db"
    assert main(["backup", "--data-dir", str(directory), str(copy)]) == 0
    assert "at revision 1" in capsys.readouterr().out
    assert main(["backup", "--data-dir", str(directory), str(copy)]) == 1
    assert "exists" in capsys.readouterr().err
