"""Help pages. ``tests/e2e/test_help_examples.py`` runs the examples."""

import re
import shlex

import pytest

from steersman.cli.help_pages import PAGES
from steersman.cli.main import main

#: Lines of a page that fits a terminal without scrolling far.
_LINES_MAX = 75


def page(command, flag, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    with pytest.raises(SystemExit) as stopped:
        main([command, flag])
    assert stopped.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("command", [name for name in PAGES if name != "components"])
def test_help_of_a_command_is_short_and_has_examples(command, capsys, monkeypatch):
    text = page(command, "--help", capsys, monkeypatch)
    assert re.match(rf"usage: steersman {command} (ACTION \[OPERAND\] )?\[FLAGS\]\n", text)
    assert len(text.splitlines()) <= _LINES_MAX
    assert PAGES[command].examples
    for example in PAGES[command].examples:
        assert f"  # {example.text}\n  {example.command}\n" in text
        assert shlex.split(example.command)[:2] == ["steersman", command]


@pytest.mark.parametrize("command", [name for name, page in PAGES.items() if page.groups])
def test_help_all_shows_more_than_help(command, capsys, monkeypatch):
    short = page(command, "--help", capsys, monkeypatch)
    full = page(command, "--help-all", capsys, monkeypatch)
    assert short.endswith(f"\nrun 'steersman {command} --help-all' for all flags\n")
    flags = {flag for _, flags in PAGES[command].groups for flag in flags}
    assert all(f"--{flag}" in short and f"--{flag}" in full for flag in flags)
    assert len(full.splitlines()) > len(short.splitlines())


def test_help_of_up_shows_a_dozen_flags_and_help_all_those_of_kube_apiserver(capsys, monkeypatch):
    assert 12 <= sum(len(flags) for _, flags in PAGES["up"].groups) <= 18
    short = page("up", "--help", capsys, monkeypatch)
    full = page("up", "--help-all", capsys, monkeypatch)
    assert "--enable-priority-and-fairness" not in short
    assert "Enable API priority and fairness" in full
