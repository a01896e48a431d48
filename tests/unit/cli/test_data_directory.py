from __future__ import annotations

from steersman.cli.data_directory import store_path


def test_store_path_is_in_the_data_directory(tmp_path):
    assert store_path(tmp_path) == tmp_path / "state.db"
    assert store_path(None).name == "state.db"
