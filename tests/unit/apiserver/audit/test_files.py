"""Rotated audit files and standard output."""

import gzip
from datetime import UTC, datetime, timedelta

import pytest

from steersman.apiserver.audit.files import RotatingFile, Rotation, StandardOutput

NOW = datetime(2026, 1, 1, 12, 30, 15, 250_000, tzinfo=UTC)


@pytest.fixture
def opened():
    files = []

    def make(path, now=lambda: NOW, **rotation) -> RotatingFile:
        files.append(RotatingFile(path, Rotation(**rotation), now=now))
        return files[-1]

    yield make
    for file in files:
        file.close()


def test_lines_are_appended_to_a_private_file(tmp_path, opened):
    path = tmp_path / "deep" / "audit.log"
    opened(path).write([b"a\n"])
    opened(path).write([b"b\n", b"c\n"])
    assert path.read_bytes() == b"a\nb\nc\n"
    assert path.stat().st_mode & 0o777 == 0o600


def test_full_file_is_renamed_with_a_timestamp(tmp_path, opened):
    path = tmp_path / "audit.log"
    opened(path, size_max_bytes=4).write([b"1\n", b"2\n", b"3\n", b"longer\n", b"4\n"])
    assert path.read_bytes() == b"4\n"
    aside = sorted(file.name for file in tmp_path.iterdir() if file != path)
    assert aside == [f"audit-2026-01-01T12-30-15.25{number}.log" for number in range(3)]
    assert [(tmp_path / name).read_bytes() for name in aside] == [b"1\n2\n", b"3\n", b"longer\n"]


def test_backups_are_compressed_on_request(tmp_path, opened):
    path = tmp_path / "audit"
    opened(path, size_max_bytes=2, compress=True).write([b"1\n", b"2\n"])
    packed = tmp_path / "audit-2026-01-01T12-30-15.250.gz"
    assert gzip.decompress(packed.read_bytes()) == b"1\n"
    assert packed.stat().st_mode & 0o777 == 0o600


def test_newest_backups_are_kept(tmp_path, opened):
    path = tmp_path / "audit.log"
    opened(path, size_max_bytes=1, backups_max=2).write([b"1", b"2", b"3", b"4"])
    contents = sorted(file.read_bytes() for file in tmp_path.iterdir())
    assert contents == [b"2", b"3", b"4"]


def test_old_backups_are_removed_and_other_files_kept(tmp_path, opened):
    path = tmp_path / "audit.log"
    (tmp_path / "audit-notes.log").write_bytes(b"mine")
    times = iter([NOW, NOW, NOW + timedelta(days=3), NOW + timedelta(days=3)])
    opened(path, lambda: next(times), size_max_bytes=1, age_max_days=2).write([b"1", b"2", b"3"])
    assert sorted(file.read_bytes() for file in tmp_path.iterdir()) == [b"2", b"3", b"mine"]


def test_backups_are_kept_without_limits(tmp_path, opened):
    path = tmp_path / "audit.log"
    opened(path, size_max_bytes=0, age_max_days=0, backups_max=0).write([b"1", b"2"])
    assert path.read_bytes() == b"12"


def test_unwritable_path_raises_on_open(tmp_path, opened):
    with pytest.raises(OSError, match="directory"):
        opened(tmp_path)


def test_standard_output_writes_lines(capfdbinary):
    output = StandardOutput()
    output.write([b"a\n", b"b\n"])
    output.close()
    assert capfdbinary.readouterr().out == b"a\nb\n"
