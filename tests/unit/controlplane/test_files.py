"""Private files."""

import os

import pytest

from steersman.controlplane.files import write_private


def test_write_private_replaces_a_file_with_mode_0600(tmp_path):
    path = tmp_path / "new" / "secret"
    write_private(path, b"one")
    path.chmod(0o644)
    write_private(path, b"two")
    assert path.read_bytes() == b"two"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_write_private_keeps_the_old_file_when_it_fails(tmp_path, monkeypatch):
    path = tmp_path / "secret"
    write_private(path, b"one")

    def fail(*_):
        raise OSError("no")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no"):
        write_private(path, b"two")
    assert [entry.name for entry in tmp_path.iterdir()] == ["secret"]
    assert path.read_bytes() == b"one"
