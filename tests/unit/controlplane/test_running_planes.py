"""Files and locks of running control planes."""

from __future__ import annotations

from pathlib import Path

import msgspec

from steersman.controlplane.running_planes import Announcement, RunningPlane, running_directory, running_planes

PLANE = RunningPlane(pid=7, url="https://127.0.0.1:1", kubeconfig="/k", data_dir="/d", started="2026-01-02T03:04:05Z")


def test_running_plane_is_listed_while_it_runs(tmp_path: Path) -> None:
    directory = tmp_path / "running"
    assert running_planes(directory) == []
    older = msgspec.structs.replace(PLANE, pid=9, started="2026-01-01T00:00:00Z")
    announcements = [Announcement.make(plane, directory=directory) for plane in (PLANE, older)]
    assert running_planes(directory) == [older, PLANE]
    assert (directory / "7.json").stat().st_mode & 0o777 == 0o600
    announcements[0].close()
    assert running_planes(directory) == [older]
    announcements[1].close()
    assert list(directory.iterdir()) == []


def test_file_of_a_killed_process_is_removed(tmp_path: Path) -> None:
    left = tmp_path / "7.json"
    left.write_bytes(msgspec.json.encode(PLANE))
    assert running_planes(tmp_path) == []
    assert not left.exists()


def test_announcement_is_in_the_users_state_directory(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert running_directory() == tmp_path / "steersman" / "running"
