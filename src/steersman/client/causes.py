"""Cause of queued keys: the informer event that is being delivered.

Used by the log of reconciles (``-v 2``) and by their recorder. A callback is wrapped only if one of them is enabled when it
is registered, so delivery costs nothing otherwise.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, TypeVar

from steersman.asynckit.structured_logging import V2
from steersman.client.changes import Added, Updated
from steersman.client.objects import key_of, resource_version_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from steersman.client.changes import Change

T = TypeVar("T")

_log: Final = logging.getLogger(__name__)
#: True where callbacks are registered for a recorder of reconciles (``steersman.runtime.reconcile_log``).
TRACED: Final[ContextVar[bool]] = ContextVar("traced", default=False)
#: Kind and event under delivery, or the text of another cause; None: unknown.
_CAUSE: Final[ContextVar[tuple[str, Change[Any]] | str | None]] = ContextVar("cause", default=None)


def traced(call: Callable[[Change[T]], None], kind: str) -> Callable[[Change[T]], None]:
    """Return ``call``, wrapped to publish the event as the cause of the keys it queues if reconciles are logged or recorded."""
    if not _log.isEnabledFor(V2) and not TRACED.get():
        return call

    def publish(change: Change[T]) -> None:
        token = _CAUSE.set((kind, change))
        try:
            call(change)
        finally:
            _CAUSE.reset(token)

    return publish


@contextmanager
def because(cause: str) -> Iterator[None]:
    """Set the cause of keys queued in the block."""
    token = _CAUSE.set(cause)
    try:
        yield
    finally:
        _CAUSE.reset(token)


def current_cause() -> str:
    """Return the cause of keys queued now (``Pod default/web added``); empty when unknown."""
    cause = _CAUSE.get()
    if cause is None or isinstance(cause, str):
        return cause or ""
    return describe(*cause)


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
