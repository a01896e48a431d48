"""Health checks and their pages, as Kubernetes components serve them: ``/healthz``, ``/livez``, ``/readyz``."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from steersman.runtime.http import Page

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_log = logging.getLogger(__name__)


class Unhealthy(Exception):  # noqa: N818 — named by the condition
    """Raised by a failing check; its text is logged, not served."""


class Health:
    """Named checks behind one path; each returns or raises ``Unhealthy``."""

    def __init__(self, name: str) -> None:
        """``name`` of the path: ``healthz``."""
        self.name: Final = name
        self._checks: dict[str, Callable[[], None]] = {"ping": lambda: None}

    def add(self, name: str, check: Callable[[], None]) -> None:
        """Add a check; replaces a check of the same name."""
        self._checks[name] = check

    async def page(self, query: Mapping[str, str]) -> Page:
        """Return ``ok`` or the failed checks; ``?verbose`` lists all checks, ``?exclude=NAME`` skips one."""
        lines: list[str] = []
        failed: list[str] = []
        for name, check in self._checks.items():
            if query.get("exclude") == name:
                lines.append(f"[+]{name} excluded: ok")
                continue
            try:
                check()
            except Unhealthy as why:
                failed.append(f"{name}: {why}")
                lines.append(f"[-]{name} failed: reason withheld")
            else:
                lines.append(f"[+]{name} ok")
        if failed:
            _log.info("%s check failed: %s", self.name, "; ".join(failed))
            return Page(500, "\n".join([*lines, f"{self.name} check failed\n"]).encode())
        if "verbose" in query:
            return Page(200, "\n".join([*lines, f"{self.name} check passed\n"]).encode())
        return Page(200, b"ok")
