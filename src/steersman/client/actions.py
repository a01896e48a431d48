"""Summary of the writes of one reconcile, for the log of reconciles (``-v 2``).

``Sender`` counts each accepted write in the ``Actions`` of its context; tasks that a reconcile starts share them.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.client.transport import Request

#: Actions of the reconcile that runs in this context; None: writes are not counted.
ACTIONS: Final[ContextVar[Actions | None]] = ContextVar("actions", default=None)

_VERBS: Final = {"POST": "created", "PUT": "updated", "PATCH": "patched", "DELETE": "deleted"}
#: Path segments before the resource: ``api/v1`` and ``apis/GROUP/VERSION``.
_ROOTS: Final = {"api": 2, "apis": 3}


class Actions:
    """Counts of writes by verb and resource, and notes on decisions."""

    def __init__(self) -> None:
        self._writes: dict[str, int] = {}
        self._notes: dict[str, None] = {}

    def count(self, request: Request) -> None:
        """Count an accepted request, unless it only reads."""
        verb = _VERBS.get(request.method)
        if verb is not None:
            if ("dryRun", "All") in request.query:
                verb = f"dry-run {verb}"
            write = f"{verb} {resource_of(request.path)}"
            self._writes[write] = self._writes.get(write, 0) + 1

    def note(self, text: str) -> None:
        """Record a decision (``stage pod-ready``); each text once."""
        self._notes[text] = None

    def __str__(self) -> str:
        """Return ``created pods x2, updated replicasets/status``, or ``nothing``."""
        if not (self._notes or self._writes):
            return "nothing"
        writes = (text if count == 1 else f"{text} x{count}" for text, count in self._writes.items())
        return ", ".join([*self._notes, *writes])


def note_action(text: str) -> None:
    """Record a decision of the reconcile that runs in this context, if reconciles are logged."""
    actions = ACTIONS.get()
    if actions is not None:
        actions.note(text)


@contextmanager
def uncounted() -> Iterator[None]:
    """Exclude the writes of the block from the summary. For requests that serve no object, e.g. for credentials."""
    token = ACTIONS.set(None)
    try:
        yield
    finally:
        ACTIONS.reset(token)


def resource_of(path: str) -> str:
    """Return ``pods`` or ``pods/status`` of an API path; the path itself if it names no resource."""
    parts = path.strip("/").split("/")
    rest = parts[_ROOTS.get(parts[0], len(parts)) :]
    if len(rest) > 2 and rest[0] == "namespaces" and rest[2] not in ("status", "finalize"):
        rest = rest[2:]
    if not rest:
        return path
    return "/".join([rest[0], *rest[2:3]])
