"""Formats and levels of the log of commands."""

from __future__ import annotations

import json
import logging
import os
import time

import pytest

from steersman.asynckit.structured_logging import V2, V3
from steersman.cli import logs


def record(level=logging.INFO, message="found %s", *arguments, error=None, fields=None):
    log_record = logging.LogRecord("steersman.x", level, "/src/f.py", 7, message, arguments or ("it",), error)
    if fields is not None:
        log_record.fields = fields
    return log_record


def caught(error):
    """Return ``exc_info`` of an error."""
    with pytest.raises(type(error)) as raised:
        raise error
    return (raised.type, raised.value, raised.tb)


def json_line(obj):
    return json.loads(logs.JSONFormatter().format(obj))


@pytest.mark.parametrize(
    ("level", "v", "name"),
    [
        (logging.DEBUG, 4, "debug"),
        (V3, 3, "info"),
        (V2, 2, "info"),
        (logging.INFO, 0, "info"),
        (logging.WARNING, 0, "warning"),
        (logging.ERROR, None, "error"),
    ],
)
def test_json_line_has_upstreams_keys(level, v, name):
    new_record = record(level)
    line = json_line(new_record)
    assert (line["ts"], line["caller"], line["logger"], line["msg"]) == (
        new_record.created * 1000,
        "f.py:7",
        "steersman.x",
        "found it",
    )
    assert (line.get("v"), line["level"]) == (v, name)


def test_json_line_has_the_pairs_of_the_record():
    line = json_line(record(fields={"resp": 200, "URI": "/x", "err": ValueError("broken"), "victims": ["a/b"]}))
    assert (line["resp"], line["URI"], line["err"], line["victims"]) == (200, "/x", "broken", ["a/b"])


def test_json_line_of_an_error_has_its_text_and_stack():
    line = json_line(record(logging.ERROR, error=caught(ValueError("broken"))))
    assert line["err"] == "broken"
    assert "ValueError" in line["stacktrace"]


@pytest.fixture
def utc(monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("utc")
@pytest.mark.parametrize(
    ("level", "severity"),
    [(V3, "I"), (logging.INFO, "I"), (logging.WARNING, "W"), (logging.ERROR, "E"), (logging.CRITICAL, "E")],
)
def test_text_line_is_klogs(level, severity):
    new_record = record(level)
    new_record.created = 1136214245.000789  # 2006-01-02 15:04:05
    assert logs.KlogFormatter().format(new_record) == (
        f"{severity}0102 15:04:05.000789 {os.getpid():>7} f.py:7] found it"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("web", '"web"'),
        ('a "b"', '"a \\"b\\""'),
        (200, "200"),
        (True, "true"),
        (0.5, "0.5"),
        (["a/b", "c"], '["a/b","c"]'),
        (ValueError("broken"), '"broken"'),
        ("two\nlines", "<\n\ttwo\n\tlines\n >"),
    ],
)
def test_text_line_writes_values_as_klog_does(value, text):
    line = logs.KlogFormatter().format(record(V2, fields={"key": value}))
    assert line.endswith(f'] "found it" key={text}')


def test_text_line_of_an_error_is_followed_by_its_traceback():
    lines = logs.KlogFormatter().format(record(logging.ERROR, error=caught(ValueError("broken")))).splitlines()
    assert lines[0].endswith("] found it")
    assert lines[-1] == "ValueError: broken"


@pytest.fixture
def root(monkeypatch):
    """Logging that is not set up."""
    root_logger = logging.RootLogger(logging.WARNING)
    monkeypatch.setattr(logging, "root", root_logger)
    return root_logger


@pytest.mark.parametrize(
    ("verbosity", "level"), [(0, logging.WARNING), (1, logging.INFO), (2, V2), (3, V3), (4, 10), (9, 10)]
)
def test_set_up_takes_the_level_from_the_verbosity(root, verbosity, level):
    logs.set_up(verbosity)
    assert root.level == level


@pytest.mark.parametrize(("style", "begins"), [("json", "{"), ("text", "I")])
def test_set_up_logs_either_format_to_stderr(root, capsys, style, begins):
    logs.set_up(1, style=style)
    root.handle(record())
    assert capsys.readouterr().err.startswith(begins)


def test_vmodule_sets_the_verbosity_of_modules(root, capsys):
    logs.set_up(0, modules=[("found", 4), ("*/other/*", 1)])
    assert root.level == logging.DEBUG
    for path, level, is_logged in [
        ("/a/found.py", logging.DEBUG, True),
        ("/a/found_too.py", logging.INFO, False),
        ("/a/other/x.py", logging.INFO, True),
        ("/a/other/x.py", logging.DEBUG, False),
        ("/a/other.py", logging.WARNING, True),
    ]:
        new_record = record(level)
        new_record.pathname = path
        root.handle(new_record)
        assert bool(capsys.readouterr().err) is is_logged, (path, level)
