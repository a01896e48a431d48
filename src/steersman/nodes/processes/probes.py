"""Probes of process containers: exec, and HTTP, HTTPS or TCP on loopback. gRPC probes always pass."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from steersman.asynckit.timeouts import wait_for
from steersman.nodes.processes.fields import LOOPBACK
from steersman.nodes.processes.http import get, port_number

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.asynckit.clock import Clock

    Execute = Callable[[Sequence[str]], Awaitable[int]]


async def passes(probe: Tree, container: Tree, *, execute: Execute, clock: Clock) -> bool:
    """Run the probe once; return True if it succeeds."""
    try:
        return await wait_for(_probe(probe, container, execute), float(probe.get("timeoutSeconds") or 1), clock=clock)
    except (OSError, TimeoutError, asyncio.IncompleteReadError, ValueError):
        return False


async def _probe(probe: Tree, container: Tree, execute: Execute) -> bool:
    if probe.get("exec"):
        return await execute(probe["exec"].get("command") or ()) == 0
    if probe.get("httpGet"):
        return 200 <= await get(probe["httpGet"], container, agent="kube-probe/1.36") < 400
    if probe.get("tcpSocket"):
        _, writer = await asyncio.open_connection(LOOPBACK, port_number(probe["tcpSocket"].get("port"), container))
        writer.close()
    return True


class ProbeThreshold:
    """Probe result with thresholds: it changes after enough consecutive results. Upstream:
    pkg/kubelet/prober/worker.go.
    """

    def __init__(self, probe: Tree, *, passing: bool) -> None:
        self._needed = {True: probe.get("successThreshold") or 1, False: probe.get("failureThreshold") or 3}
        self._last = passing
        self._run = 0
        #: Current result.
        self.passing = passing

    def count(self, answer: bool) -> bool:  # noqa: FBT001 — an answer is yes or no
        """Count one result; return True if the overall result changed."""
        self._run = self._run + 1 if answer is self._last else 1
        self._last = answer
        if self._run < self._needed[answer]:
            return False
        has_changed = self.passing is not answer
        self.passing = answer
        return has_changed
