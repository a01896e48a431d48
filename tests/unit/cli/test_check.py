from __future__ import annotations

import asyncio

import pytest
from tests.unit.cli.stores import write

from steersman.cli.main import main


@pytest.fixture
def directory(tmp_path):
    asyncio.run(write(tmp_path))
    return tmp_path


def test_check_passes_for_sound_data(directory, capsys):
    assert main(["check", "--data-dir", str(directory)]) == 0
    out = capsys.readouterr().out
    assert "schema 3, revision 1, 1 keys" in out
    assert "no problems found" in out


def test_check_fails_for_objects_that_do_not_decode(tmp_path, capsys):
    asyncio.run(write(tmp_path, name="other"))
    assert main(["check", "--data-dir", str(tmp_path)]) == 1
    assert "/registry/configmaps/ns/one: holds an object named 'other'" in capsys.readouterr().out


def test_check_fails_without_data(tmp_path, capsys):
    assert main(["check", "--data-dir", str(tmp_path)]) == 1
    assert "no such file" in capsys.readouterr().err
