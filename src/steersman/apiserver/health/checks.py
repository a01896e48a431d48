"""``/healthz``, ``/livez`` and ``/readyz``: named checks, all together or one at a time.

Texts are those of upstream's ``healthz`` package, which scripts and probes parse.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Protocol

import msgspec

from steersman.apimachinery.gotext import quote
from steersman.apiserver.http import Response

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from steersman.apiserver.http import Handler, Request

_log = logging.getLogger(__name__)

_TEXT = b"text/plain; charset=utf-8"
_NOSNIFF = [(b"x-content-type-options", b"nosniff")]


class Unhealthy(Exception):  # noqa: N818 — it names a state, as upstream's messages do
    """A check fails; the text is the reason."""


class Check(msgspec.Struct, frozen=True):
    """Named check; ``probe`` raises ``Unhealthy`` (or any exception) on failure."""

    name: str
    probe: Callable[[], Awaitable[None]]


async def ping() -> None:
    """Succeed always: the server responds."""


class Observe(Protocol):
    """Callback that records the result of a check."""

    def __call__(self, check: str, endpoint: str, *, passed: bool) -> None: ...


class HealthEndpoint:
    """Health endpoint: its name, for example ``readyz``, and its checks in order of output."""

    def __init__(self, name: str, checks: Sequence[Check], *, observe: Observe | None = None) -> None:
        self.name = name
        self._checks = list(checks)
        self._observe = observe

    def add(self, check: Check) -> None:
        """Append a check."""
        self._checks.append(check)

    async def whole(self, request: Request) -> Response:
        """Serve ``/readyz``: all checks except excluded ones; details with ``?verbose`` and on failure."""
        excluded = set(request.query.get("exclude", ()))
        lines: list[str] = []
        failed: list[str] = []
        for check in self._checks:
            if check.name in excluded:
                excluded.discard(check.name)
                lines.append(f"[+]{check.name} excluded: ok")
                continue
            error = await _failure(check)
            if self._observe is not None:
                self._observe(check.name, self.name, passed=error is None)
            if error is None:
                lines.append(f"[+]{check.name} ok")
            else:
                lines.append(f"[-]{check.name} failed: reason withheld")
                failed.append(f"{check.name}: {error}")
        if excluded:
            unknown = ", ".join(quote(name) for name in sorted(excluded))
            lines.append(f"warn: some health checks cannot be excluded: no matches for {unknown}")
        if failed:
            _log.info("%s check failed: %s", self.name, "; ".join(failed))
            return _answer(500, "\n".join([*lines, f"{self.name} check failed\n"]))
        if "verbose" not in request.query:
            return _answer(200, "ok")
        return _answer(200, "\n".join([*lines, f"{self.name} check passed\n"]))

    def single(self, check: Check) -> Handler:
        """Return the handler of ``/readyz/<check>``, which includes the reason of a failure."""

        async def handler(request: Request) -> Response:
            del request
            error = await _failure(check)
            return _answer(200, "ok") if error is None else _answer(500, f"internal server error: {error}\n")

        return handler

    def handlers(self) -> dict[str, Handler]:
        """Return path → handler, for all checks added so far."""
        paths: dict[str, Handler] = {f"/{self.name}": self.whole}
        for check in self._checks:
            paths[f"/{self.name}/{check.name}"] = self.single(check)
        return paths


async def _failure(check: Check) -> str | None:
    """Return why the check fails; None if it passes."""
    try:
        await check.probe()
    except Exception as error:  # noqa: BLE001 — whatever a check raises is its way to say no
        return str(error) or type(error).__name__
    return None


def _answer(code: int, text: str) -> Response:
    return Response(code, text.encode(), content_type=_TEXT, headers=_NOSNIFF)
