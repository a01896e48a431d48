"""Logging of commands: klog's text lines, or ``--logging-format json`` in the format of Kubernetes components.

Upstream: k8s.io/klog/v2 (``textlogger``), k8s.io/component-base/logs/json.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.apimachinery.gotext import quote
from steersman.asynckit.log_levels import ModuleLevels, set_verbosity
from steersman.asynckit.structured_logging import V2, V3, fields_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FORMATS: Final = ("text", "json")
#: Verbosity of a level below WARNING, as ``v`` of JSON lines; 0 is for messages that are always logged.
_VERBOSITY: Final = ((logging.INFO, 0), (V2, 2), (V3, 3), (logging.DEBUG, 4))
_MILLISECONDS: Final = 1_000
_MICROSECONDS: Final = 1_000_000


class JSONFormatter(logging.Formatter):
    """One object a line: ``ts`` (milliseconds since the epoch), ``caller``, ``msg``, ``v``, the pairs of the record, ``err`` of errors.

    ``level`` and ``logger`` are additions to upstream's keys. Errors have no ``v``.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return one line."""
        line: dict[str, Any] = {
            "ts": record.created * _MILLISECONDS,
            "caller": _caller(record),
            "level": _level_name(record.levelno),
            "logger": record.name,
            "msg": record.getMessage(),
        }
        if record.levelno < logging.ERROR:
            line["v"] = next((v for level, v in _VERBOSITY if record.levelno >= level), 4)
        line.update((key, _json_value(value)) for key, value in (fields_of(record) or {}).items())
        if record.exc_info and record.exc_info[1] is not None:
            line["err"] = str(record.exc_info[1])
            line["stacktrace"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line).decode()


class KlogFormatter(logging.Formatter):
    """klog's text: ``I0102 15:04:05.000000    1234 file.py:7] "Message" key="value"``.

    Records without pairs are plain text, as by ``klog.Infof``; a traceback follows on separate lines.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return one line, or more with a traceback."""
        moment = time.localtime(record.created)
        microseconds = int(record.created * _MICROSECONDS) % _MICROSECONDS
        head = (
            f"{_severity(record.levelno)}{time.strftime('%m%d %H:%M:%S', moment)}.{microseconds:06d}"
            f" {os.getpid():>7} {_caller(record)}] "
        )
        fields = fields_of(record)
        message = record.getMessage()
        line = head + (message if fields is None else quote(message) + _pairs(fields))
        if record.exc_info and record.exc_info[1] is not None:
            line = f"{line}\n{self.formatException(record.exc_info)}"
        return line


def set_up(verbosity: int, *, style: str = "text", modules: Sequence[tuple[str, int]] = ()) -> None:
    """Set up logging to stderr; must be called once. ``style`` is one of ``FORMATS``, ``modules`` the pairs of ``--vmodule``."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JSONFormatter() if style == "json" else KlogFormatter())
    if modules:
        handler.addFilter(ModuleLevels(modules, default=verbosity))
    logging.getLogger().addHandler(handler)
    set_verbosity(verbosity)


def _caller(record: logging.LogRecord) -> str:
    return f"{PurePath(record.pathname).name}:{record.lineno}"


def _severity(level: int) -> str:
    if level >= logging.ERROR:
        return "E"
    return "W" if level >= logging.WARNING else "I"


def _level_name(level: int) -> str:
    if level >= logging.ERROR:
        return "error"
    if level >= logging.WARNING:
        return "warning"
    return "info" if level > logging.DEBUG else "debug"


def _pairs(fields: Mapping[str, Any]) -> str:
    return "".join(f" {key}={_text_value(value)}" for key, value in fields.items())


def _text_value(value: Any) -> str:
    """Return a value as klog's ``serialize.KVFormat`` does: quoted text, multi-line text between ``<`` and ``>``."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, separators=(",", ":"), default=str, ensure_ascii=False)
    text = str(value)
    if "\n" in text:
        return "<\n" + "".join(f"\t{line}\n" for line in text.split("\n")) + " >"
    return quote(text)


def _json_value(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | list | tuple | dict | None) else str(value)
