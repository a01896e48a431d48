"""What authenticators want to be told of a request that they do not see: they look at credentials, and not at requests.

A request's notes are those of the task that serves it. Nobody hears them without an audit log and a client to warn.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from steersman.apiserver.http import Request

_served: Final[ContextVar[Request | None]] = ContextVar("request whose credentials are looked at", default=None)


def note_for(request: Request) -> None:
    """From now on what this task's authenticators say is about ``request``."""
    _served.set(request)


def annotate(key: str, value: str) -> None:
    """For the audit log."""
    request = _served.get()
    if request is not None and request.annotations is not None:
        request.annotations.add(key, value)


def warn(text: str) -> None:
    """For the client."""
    request = _served.get()
    if request is not None:
        request.warnings.add(text)
