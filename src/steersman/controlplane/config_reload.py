"""Reload of a configuration file of the API server after changes, and its metrics.

Upstream: ``pkg/kubeapiserver/options/authentication.go`` (``ApplyTo``),
``staging/src/k8s.io/apiserver/pkg/server/options/authenticationconfig/metrics/metrics.go``
"""

from __future__ import annotations

import asyncio
import logging
import socket
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.label_sets import hash_label
from steersman.apiserver.observability.metrics import Family, counter, gauge
from steersman.controlplane.bootstrap.identity import server_id
from steersman.controlplane.file_follower import RELOAD_SECONDS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable
    from pathlib import Path

    from steersman.asynckit.clock import Clock

_log = logging.getLogger(__name__)


class InvalidConfigError(ValueError):
    """Contents that will never be valid; the file is not applied again before it changes."""


class ReloadMetrics:
    """Reloads by status, and the hash of the applied file."""

    def __init__(self, prefix: str, *, clock: Clock) -> None:
        """``prefix``: of the names, e.g. ``apiserver_authentication_config_controller``."""
        self._prefix: Final = prefix
        self._clock: Final = clock
        self._counts: Final[dict[str, int]] = {}
        self._seconds: Final[dict[str, float]] = {}
        self._applied = ""

    def applied(self, data: bytes) -> None:
        """Record the contents in use."""
        self._applied = hash_label(data)

    def count(self, status: str) -> None:
        """Count a reload: ``success`` or ``failure``."""
        self._counts[status] = self._counts.get(status, 0) + 1
        self._seconds[status] = self._clock.now().timestamp()

    def families(self) -> list[Family]:
        """Return the metrics."""
        server = ("apiserver_id_hash", hash_label(server_id(socket.gethostname()).encode()))
        return [
            counter(
                f"{self._prefix}_automatic_reloads_total",
                "Reloads of the configuration, by status.",
                [((("status", status), server), count) for status, count in sorted(self._counts.items())],
            ),
            gauge(
                f"{self._prefix}_automatic_reload_last_timestamp_seconds",
                "Time of the last reload of the configuration, by status.",
                [((("status", status), server), seconds) for status, seconds in sorted(self._seconds.items())],
            ),
            gauge(
                f"{self._prefix}_last_config_info",
                "Hash of the configuration in use.",
                [((server, ("hash", self._applied)), 1)] if self._applied else [],
            ),
        ]


class ConfigReload:
    """Reload of one file: new contents are applied, and kept in use until others are applied."""

    def __init__(
        self,
        path: Path,
        data: bytes,
        apply: Callable[[bytes], Awaitable[None]],
        *,
        metric_prefix: str,
        clock: Clock,
    ) -> None:
        """``data``: the contents in use.

        ``apply`` raises ``InvalidConfigError`` for contents that will never be valid. After ``OSError`` (also
        ``TimeoutError``) it is called again with the next poll.
        """
        self._path: Final = path
        self._apply: Final = apply
        self._clock: Final = clock
        self._tracked = data
        self.metrics: Final = ReloadMetrics(metric_prefix, clock=clock)
        self.metrics.applied(data)

    async def run(self) -> None:
        """Poll the file until cancelled."""
        while True:
            await self._clock.sleep(RELOAD_SECONDS)
            await self.poll()

    async def poll(self) -> None:
        """Apply the file if its contents have changed."""
        try:
            data = await asyncio.to_thread(self._path.read_bytes)
            if data == self._tracked:
                return
            await self._apply(data)
        except InvalidConfigError as error:
            self._tracked = data
            self._failed(error)
        except OSError as error:
            self._failed(error)
        else:
            self._tracked = data
            self.metrics.applied(data)
            self.metrics.count("success")
            _log.info("reloaded %s", self._path)

    def _failed(self, error: Exception) -> None:
        self.metrics.count("failure")
        _log.error("cannot reload %s, the last configuration stays in use: %s", self._path, error)

    async def collect(self) -> Iterable[Family]:
        """Return the metrics of reloads."""
        return self.metrics.families()
