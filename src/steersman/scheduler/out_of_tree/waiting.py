"""Pods that wait for the approval of Permit plugins. Upstream: pkg/scheduler/framework/runtime/waiting_pods_map.go."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.durations import format_duration
from steersman.scheduler.framework import PluginRejection, Rejection

if TYPE_CHECKING:
    from collections.abc import Mapping

    from steersman.asynckit.clock import Clock
    from steersman.scheduler.pod_info import PodInfo

#: Upstream: ``maxTimeout``.
TIMEOUT_MAX_SECONDS: Final = 15 * 60.0


class PermitWait:
    """A waiting pod; implements ``interface.WaitingPod``."""

    def __init__(self, pod: PodInfo, node: str, timeouts: Mapping[str, float], *, clock: Clock) -> None:
        """``timeouts``: seconds to wait for each plugin; the plugin rejects the pod then."""
        self.pod: Final = pod
        self.node: Final = node
        self._timers = {
            plugin: clock.timer(
                seconds,
                partial(
                    self.reject,
                    plugin,
                    f"rejected due to timeout after waiting {format_duration(seconds)} at plugin {plugin}",
                ),
            )
            for plugin, seconds in timeouts.items()
        }
        self._rejection: Rejection | None = None
        self._settled = asyncio.Event()

    @property
    def pending_plugins(self) -> list[str]:
        return list(self._timers)

    def allow(self, plugin: str) -> None:
        timer = self._timers.pop(plugin, None)
        if timer is not None:
            timer.cancel()
        if not self._timers:
            self._settled.set()

    def reject(self, plugin: str, reason: str) -> None:
        if self._settled.is_set():
            return
        self._rejection = Rejection(plugin, (reason,))
        self.cancel()
        self._settled.set()

    def cancel(self) -> None:
        """Cancel the timers."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    async def wait(self) -> None:
        """Wait until all plugins have allowed the pod. Raises ``PluginRejection``."""
        try:
            await self._settled.wait()
        finally:
            self.cancel()
        if self._rejection is not None:
            raise PluginRejection(self._rejection)
