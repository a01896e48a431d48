"""Levels of the log by klog's numbers (``--v``, ``--vmodule``), which may change while a process runs."""

from __future__ import annotations

import fnmatch
import logging
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from steersman.asynckit.structured_logging import V2, V3

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Levels by ``--v``.
_LEVELS: Final = (logging.WARNING, logging.INFO, V2, V3, logging.DEBUG)


class ModuleLevels(logging.Filter):
    """Verbosity of some modules, as of klog's ``--vmodule``: the first pattern that matches the name of the file applies.

    A pattern with a slash matches the path without its extension, others match the name of the module.
    """

    def __init__(self, levels: Sequence[tuple[str, int]], *, default: int) -> None:
        super().__init__()
        self._levels: Final = [(pattern, level_of(verbosity)) for pattern, verbosity in levels]
        #: Level of other modules.
        self.default = level_of(default)

    @property
    def lowest(self) -> int:
        """Return the lowest level of the patterns and of other modules."""
        return min(self.default, *(level for _, level in self._levels))

    def filter(self, record: logging.LogRecord) -> bool:
        """Report whether the record must be logged."""
        path = PurePath(record.pathname).with_suffix("")
        for pattern, level in self._levels:
            if fnmatch.fnmatchcase(str(path) if "/" in pattern else path.name, pattern):
                return record.levelno >= level
        return record.levelno >= self.default


def level_of(verbosity: int) -> int:
    """Return the level of ``logging`` for ``--v``."""
    return _LEVELS[min(verbosity, len(_LEVELS) - 1)]


def set_verbosity(verbosity: int) -> None:
    """Set ``--v`` of this process; patterns of ``--vmodule`` keep theirs."""
    root = logging.getLogger()
    levels = [level_of(verbosity)]
    for handler in root.handlers:
        for patterns in handler.filters:
            if isinstance(patterns, ModuleLevels):
                patterns.default = level_of(verbosity)
                levels.append(patterns.lowest)
    root.setLevel(min(levels))
