"""The fuzzing script: findings are recorded once for each place of failure, and the run goes on."""

from __future__ import annotations

import sys

import pytest
from scripts import fuzz
from tests.fuzz.targets import NAMES, Target


def fail(data: bytes) -> None:
    if data.startswith(b"v"):
        raise ValueError(data)
    if data.startswith(b"t"):
        raise TypeError(data)


def test_checker_records_the_first_input_of_each_failure(tmp_path, capsys):
    check = fuzz.Checker(Target("x", fail, ()), tmp_path, 1000.0)
    for data in (b"a", b"v1", b"v2", b"t1"):
        check(data)
    inputs = sorted(path.read_bytes() for path in tmp_path.iterdir() if not path.suffix)
    assert inputs == [b"t1", b"v1"]
    assert len(list(tmp_path.glob("*.txt"))) == 2
    assert capsys.readouterr().out.count("finding") == 2
    assert check.inputs == 4


def test_checker_records_inputs_above_the_limit_of_cpu_time(tmp_path):
    fuzz.Checker(Target("x", fail, ()), tmp_path, -1.0)(b"a")
    assert [path.read_bytes() for path in tmp_path.iterdir() if not path.suffix] == [b"a"]


def test_main_lists_targets(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["fuzz.py", "--list"])
    assert fuzz.main() == 0
    assert capsys.readouterr().out.split() == list(NAMES)


def test_main_rejects_unknown_target(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["fuzz.py", "x"])
    with pytest.raises(SystemExit):
        fuzz.main()


def test_main_replays_one_input(monkeypatch, tmp_path):
    path = tmp_path / "input"
    path.write_bytes(b"metadata.name=a")
    monkeypatch.setattr(sys, "argv", ["fuzz.py", "field_selectors", "--replay", str(path)])
    assert fuzz.main() == 0
