from __future__ import annotations

import json

import pytest
from codegen import __main__ as command
from codegen import emit


@pytest.fixture
def tree(tmp_path, monkeypatch):
    monkeypatch.setattr(emit, "GENERATED", tmp_path / "generated")
    return emit.GENERATED


def test_stale_is_empty_after_write(tree):
    files = {"a.json": "1\n", "b.json": "2\n"}
    emit.write(files)
    assert emit.stale(files) == []


def test_changed_missing_and_surplus_files_are_stale(tree):
    emit.write({"same": "1", "changed": "1", "surplus": "1"})
    assert emit.stale({"same": "1", "changed": "2", "missing": "1"}) == ["changed", "missing", "surplus"]


def test_writing_removes_foreign_files(tree):
    emit.write({"old": "1"})
    emit.write({"new": "1"})
    assert [path.name for path in tree.iterdir()] == ["new"]


def test_render_writes_json_with_one_row_per_line():
    files = emit.render()
    apps = files["apps_v1.json"]
    assert len(apps.splitlines()) == len(json.loads(apps)) + 2


def test_check_fails_when_the_tree_is_out_of_date(tree, monkeypatch, capsys):
    emit.write({"a.json": "old"})
    monkeypatch.setattr(command, "render", lambda: {"a.json": "new"})
    monkeypatch.setattr("sys.argv", ["codegen", "--check"])
    assert command.main() == 1
    assert "a.json" in capsys.readouterr().err


def test_main_writes_the_tree_without_check(tree, monkeypatch):
    monkeypatch.setattr(command, "render", lambda: {"a.json": "new"})
    monkeypatch.setattr("sys.argv", ["codegen"])
    assert command.main() == 0
    assert (tree / "a.json").read_text() == "new"
