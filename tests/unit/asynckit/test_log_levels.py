"""Verbosity of the log, and its change while a process runs."""

import logging

import pytest

from steersman.asynckit.log_levels import ModuleLevels, level_of, set_verbosity
from steersman.asynckit.structured_logging import V2, V3


@pytest.fixture
def handler():
    """Handler of the root logger, whose level is restored."""
    root, added = logging.getLogger(), logging.NullHandler()
    level = root.level
    root.addHandler(added)
    yield added
    root.removeHandler(added)
    root.setLevel(level)


@pytest.mark.parametrize(
    ("verbosity", "level"), [(0, logging.WARNING), (1, logging.INFO), (2, V2), (3, V3), (4, 10), (99, 10)]
)
def test_level_of(verbosity, level):
    assert level_of(verbosity) == level


def test_verbosity_is_the_level_of_the_root_logger(handler):
    for verbosity in (3, 0):
        set_verbosity(verbosity)
        assert logging.getLogger().level == level_of(verbosity)


def test_patterns_keep_their_verbosity(handler):
    patterns = ModuleLevels([("cycle", 3)], default=0)
    handler.addFilter(patterns)
    for verbosity in (4, 0):
        set_verbosity(verbosity)
        assert logging.getLogger().level == min(level_of(verbosity), V3)
        records = {
            name: logging.LogRecord("x", logging.DEBUG, f"/src/{name}.py", 1, "", (), None)
            for name in ("cycle", "other")
        }
        assert not patterns.filter(records["cycle"])
        assert patterns.filter(records["other"]) is (verbosity == 4)
