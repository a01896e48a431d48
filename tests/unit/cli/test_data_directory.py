"""``steersman check``, ``backup`` and ``repair`` on a data directory."""

from __future__ import annotations

import asyncio

import pytest

from steersman.asynckit.clock import FakeClock
from steersman.cli.data_directory import store_path
from steersman.cli.main import main
from steersman.storage.sqlite import SqliteStore
from steersman.storage.store import Put


@pytest.fixture
def directory(tmp_path):
    asyncio.run(write(tmp_path))
    return tmp_path


async def write(directory, *, name="one"):
    store = await SqliteStore.open(directory / "state.db", clock=FakeClock())
    await store.txn(
        [Put("/registry/configmaps/ns/one", b'{"kind":"ConfigMap","metadata":{"name":"%s"}}' % name.encode())]
    )
    await store.close()


def test_store_path_is_in_the_data_directory(tmp_path):
    assert store_path(tmp_path) == tmp_path / "state.db"
    assert store_path(None).name == "state.db"


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


def test_backup_copies_the_store(directory, capsys):
    copy = directory / "copy.db"
    assert main(["backup", "--data-dir", str(directory), str(copy)]) == 0
    assert "at revision 1" in capsys.readouterr().out
    assert main(["backup", "--data-dir", str(directory), str(copy)]) == 1
    assert "exists" in capsys.readouterr().err


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
