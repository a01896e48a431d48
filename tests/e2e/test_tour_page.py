"""Every command of docs/tour.md does its work, one after the other, in a home without anything in it."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on this machine")
def test_the_tour(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("record_tour", ROOT / "scripts" / "record_tour.py")
    assert spec is not None
    assert spec.loader is not None
    tour = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tour)
    terminal = tour.Terminal(tmp_path)
    try:
        said = {command: terminal.run(command) for command in tour.commands(tour.PAGE.read_text())}
        assert terminal.up.wait(30) == 0
    finally:
        terminal.close()
    assert said["kubectl get nodes"].count(" Ready ") == 3
    assert " node-1 " not in said["kubectl get pods -o wide"]
    assert "nodes       3, " in said["steersman status"]
    assert "has stopped" in said["steersman down"]
