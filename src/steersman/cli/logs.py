"""How a command logs: lines for people, or one JSON object a line as Kubernetes components write with ``--logging-format=json``."""

from __future__ import annotations

import logging
import sys
from typing import Final

import msgspec

FORMATS: Final = ("text", "json")
#: By ``--v``.
_LEVELS: Final = (logging.WARNING, logging.INFO, logging.INFO, logging.INFO, logging.DEBUG)
_TEXT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class JSONFormatter(logging.Formatter):
    """``ts`` in seconds, ``v`` (0 for what is always said, 4 for details), ``logger``, ``msg``; ``err`` of errors.

    As ``k8s.io/component-base/logs/json`` writes them; ``level`` is more than that tells.
    """

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        line = {
            "ts": record.created,
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": record.getMessage(),
        }
        if record.levelno < logging.ERROR:
            line["v"] = 4 if record.levelno < logging.INFO else 0
        if record.exc_info and record.exc_info[1] is not None:
            line["err"] = str(record.exc_info[1])
            line["stacktrace"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line).decode()


def set_up(verbosity: int, *, style: str = "text") -> None:
    """Log to stderr from now on; to be called once. ``style`` is one of ``FORMATS``."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JSONFormatter() if style == "json" else logging.Formatter(_TEXT))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(_LEVELS[min(verbosity, len(_LEVELS) - 1)])
