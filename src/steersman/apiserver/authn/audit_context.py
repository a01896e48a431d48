"""Audit annotations and warnings of authenticators, which see credentials and not the request.

The request is that of the current task, in a context variable.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from steersman.apiserver.http import Request

_served: Final[ContextVar[Request | None]] = ContextVar("request whose credentials are looked at", default=None)


def set_current_request(request: Request) -> None:
    """Set the current task's request, which receives annotations and warnings."""
    _served.set(request)


def annotate(key: str, value: str) -> None:
    """Add an audit annotation to the current request."""
    request = _served.get()
    if request is not None and request.annotations is not None:
        request.annotations.add(key, value)


def warn(text: str) -> None:
    """Add a warning to the current request's response."""
    request = _served.get()
    if request is not None:
        request.warnings.add(text)
