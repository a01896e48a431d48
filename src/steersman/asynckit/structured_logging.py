"""Structured log records: klog's verbosity levels and key/value pairs (``V(n).InfoS``).

``log_fields`` creates the records; formatters read the pairs with ``fields_of``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import logging
    from collections.abc import Mapping

#: Levels of ``-v 2`` (reconciles) and ``-v 3`` (requests), between INFO (20) and DEBUG (10, ``-v 4``).
V2: Final = 18
V3: Final = 16

#: Attribute of a record that holds its pairs.
_ATTRIBUTE: Final = "fields"


def log_fields(log: logging.Logger, level: int, message: str, fields: Mapping[str, object]) -> None:
    """Log ``message`` with ``fields`` in their order; the caller is the source location of the record."""
    log.log(level, message, extra={_ATTRIBUTE: fields}, stacklevel=2)


def fields_of(record: logging.LogRecord) -> Mapping[str, Any] | None:
    """Return the key/value pairs of a record; None for a record of plain text."""
    return getattr(record, _ATTRIBUTE, None)
