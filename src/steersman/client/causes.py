"""Cause of queued keys: the informer event that is being delivered.

Used by the log of reconciles (``-v 2``) and by their recorder. An informer publishes its events only if one of them is enabled
when a callback is registered, so delivery costs nothing otherwise.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from steersman.asynckit.structured_logging import V2
from steersman.client.changes import Added, Updated
from steersman.client.objects import key_of, resource_version_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextvars import Token

    from steersman.client.changes import Change

    Delivery = Token["_Event | str | None"]

_log: Final = logging.getLogger(__name__)
#: True where callbacks are registered for a recorder of reconciles (``steersman.runtime.reconcile_log``).
TRACED: Final[ContextVar[bool]] = ContextVar("traced", default=False)


class _Event:
    """Event under delivery, described once for all keys that it queues."""

    __slots__ = ("_change", "_kind", "_text")

    def __init__(self, kind: str, change: Change[Any]) -> None:
        self._kind = kind
        self._change = change
        self._text = ""

    def __str__(self) -> str:
        if not self._text:
            self._text = describe(self._kind, self._change)
        return self._text


#: Event under delivery, or the text of another cause; None: unknown.
_CAUSE: Final[ContextVar[_Event | str | None]] = ContextVar("cause", default=None)


def is_traced() -> bool:
    """Report whether reconciles are logged or recorded."""
    return _log.isEnabledFor(V2) or TRACED.get()


def begin_delivery(kind: str, change: Change[Any]) -> Delivery:
    """Set an event as the cause of the keys that are queued until ``end_delivery`` of the result."""
    return _CAUSE.set(_Event(kind, change))


def end_delivery(delivery: Delivery | None) -> None:
    """Restore the cause before ``begin_delivery``; a no-op without one."""
    if delivery is not None:
        _CAUSE.reset(delivery)


@contextmanager
def caused_by(cause: str) -> Iterator[None]:
    """Set the cause of keys queued in the block."""
    token = _CAUSE.set(cause)
    try:
        yield
    finally:
        _CAUSE.reset(token)


def current_cause() -> str:
    """Return the cause of keys queued now (``Pod default/web added``); empty when unknown."""
    cause = _CAUSE.get()
    return "" if cause is None else str(cause)


def describe(kind: str, change: Change[Any]) -> str:
    """Return the text of an event: ``Pod default/web added``."""
    if isinstance(change, Added):
        event = "listed" if change.is_initial else "added"
    elif isinstance(change, Updated):
        version = resource_version_of(change.new)
        event = "resync" if version and version == resource_version_of(change.old) else "updated"
    else:
        event = "deleted"
    return f"{kind} {key_of(change.latest)} {event}"
