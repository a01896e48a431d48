from __future__ import annotations

import argparse
from pathlib import Path

from steersman.cli.data_directory import add_data_dir, store_path


def path_of(*arguments: str) -> Path:
    parser = argparse.ArgumentParser()
    add_data_dir(parser)
    return store_path(parser.parse_args(arguments))


def test_store_path_is_in_the_data_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert path_of(f"--data-dir={tmp_path}") == tmp_path / "state.db"
    assert path_of() == Path("/state/steersman/state.db")
    assert path_of("--name=dev") == Path("/state/steersman/named/dev/state.db")
