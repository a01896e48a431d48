"""How a command logs."""

from __future__ import annotations

import json
import logging

import pytest

from steersman.cli import logs


def record(level=logging.INFO, message="found %s", *arguments, error=None):
    return logging.LogRecord("steersman.x", level, "f.py", 1, message, arguments or ("it",), error)


def written(made):
    return json.loads(logs.JSONFormatter().format(made))


@pytest.mark.parametrize(
    ("level", "v"), [(logging.DEBUG, 4), (logging.INFO, 0), (logging.WARNING, 0), (logging.ERROR, None)]
)
def test_a_line_is_an_object(level, v):
    made = record(level)
    line = written(made)
    assert (line["ts"], line["logger"], line["msg"], line.get("v")) == (made.created, "steersman.x", "found it", v)


def test_errors_tell_what_and_where():
    with pytest.raises(ValueError, match="invalid literal") as caught:
        int("x")
    line = written(record(logging.ERROR, error=(caught.type, caught.value, caught.tb)))
    assert line["err"] == "invalid literal for int() with base 10: 'x'"
    assert "ValueError" in line["stacktrace"]


@pytest.fixture
def root(monkeypatch):
    """Logging that nobody has set up."""
    made = logging.RootLogger(logging.WARNING)
    monkeypatch.setattr(logging, "root", made)
    return made


@pytest.mark.parametrize(("verbosity", "level"), [(0, "WARNING"), (1, "INFO"), (4, "DEBUG"), (9, "DEBUG")])
def test_the_level_goes_with_the_verbosity(root, verbosity, level):
    logs.set_up(verbosity)
    assert logging.getLevelName(root.level) == level


@pytest.mark.parametrize(("style", "begins"), [("json", "{"), ("text", "2")])
def test_either_form_goes_to_stderr(root, capsys, style, begins):
    logs.set_up(1, style=style)
    root.handle(record())
    assert capsys.readouterr().err.startswith(begins)
