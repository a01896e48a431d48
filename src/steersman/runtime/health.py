"""Health checks and their pages, as Kubernetes components serve them: ``/healthz``, ``/livez``, ``/readyz``."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, Counter, Gauge

from steersman.apimachinery.gotext import quote
from steersman.runtime.http import Page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from steersman.runtime.http import Request

_log = logging.getLogger(__name__)


class Unhealthy(Exception):  # noqa: N818 — named by the condition
    """Raised by a failing check; the message is logged, not served."""


class HealthcheckMetrics:
    """Results of health checks as service level indicators, for ``/metrics/slis``.

    Upstream: ``k8s.io/component-base/metrics/prometheus/slis``.
    """

    def __init__(self) -> None:
        self.registry: Final = CollectorRegistry()
        self._last = Gauge(
            "kubernetes_healthcheck",
            "Result of the last run of a health check: 1 if it passed",
            ("name", "type"),
            registry=self.registry,
        )
        self._counts = Counter(
            "kubernetes_healthchecks_total",
            "Runs of health checks by result",
            ("name", "type", "status"),
            registry=self.registry,
        )

    def observe(self, check: str, endpoint: str, *, passed: bool) -> None:
        """Record the result of one check."""
        self._last.labels(check, endpoint).set(passed)
        self._counts.labels(check, endpoint, "success" if passed else "error").inc()


class Health:
    """Named checks behind one path; each returns or raises ``Unhealthy``."""

    def __init__(self, name: str, results: HealthcheckMetrics | None = None) -> None:
        """``name`` of the path: ``healthz``. ``results``: metrics of the checks."""
        self.name: Final = name
        self._results = results
        self._checks: dict[str, Callable[[], None]] = {"ping": lambda: None}

    def add(self, name: str, check: Callable[[], None]) -> None:
        """Add a check; replaces a check of the same name."""
        self._checks[name] = check

    async def serve(self, request: Request) -> Page:
        """Return ``page`` for the parameters of a request."""
        return await self.page(request.query, exclude=[text for name, text in request.parameters if name == "exclude"])

    async def page(self, query: Mapping[str, str], *, exclude: Iterable[str] = ()) -> Page:
        """Return ``ok`` or the failed checks; ``?verbose`` lists all checks, each ``?exclude=NAME`` skips one."""
        excluded = set(exclude)
        lines: list[str] = []
        failed: list[str] = []
        for name, check in self._checks.items():
            if name in excluded:
                excluded.discard(name)
                lines.append(f"[+]{name} excluded: ok")
                continue
            try:
                check()
            except Unhealthy as error:
                self._record(name, passed=False)
                failed.append(f"{name}: {error}")
                lines.append(f"[-]{name} failed: reason withheld")
            else:
                self._record(name, passed=True)
                lines.append(f"[+]{name} ok")
        if excluded:
            unknown = ", ".join(quote(name) for name in sorted(excluded))
            lines.append(f"warn: some health checks cannot be excluded: no matches for {unknown}")
        if failed:
            _log.info("%s check failed: %s", self.name, "; ".join(failed))
            return Page(500, "\n".join([*lines, f"{self.name} check failed\n"]).encode())
        if "verbose" in query:
            return Page(200, "\n".join([*lines, f"{self.name} check passed\n"]).encode())
        return Page(200, b"ok")

    async def serve_single(self, request: Request) -> Page:
        """Return the result of the check that the path names, with the reason of a failure."""
        check = self._checks.get(request.path.removeprefix(f"/{self.name}/"))
        if check is None:
            return Page(404, b"404 page not found\n")
        try:
            check()
        except Unhealthy as error:
            return Page(500, f"internal server error: {error}\n".encode())
        return Page(200, b"ok")

    def _record(self, check: str, *, passed: bool) -> None:
        if self._results is not None:
            self._results.observe(check, self.name, passed=passed)
