"""Probes of process containers: exec, and HTTP or TCP on loopback. gRPC and HTTPS probes always pass."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from steersman.asynckit.timeouts import wait_for
from steersman.nodes.processes.fields import LOOPBACK

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.asynckit.clock import Clock

    Execute = Callable[[Sequence[str]], Awaitable[int]]

_HEAD_BYTES_MAX: Final = 4096


def port_number(port: Any, container: Tree) -> int:
    """Return a port given by number or name; 0 for an unknown name."""
    if isinstance(port, int):
        return port
    for each in container.get("ports") or ():
        if each.get("name") == port:
            return int(each["containerPort"])
    return int(port) if str(port).isdigit() else 0


async def passes(probe: Tree, container: Tree, *, execute: Execute, clock: Clock) -> bool:
    """Run the probe once; return True if it succeeds."""
    try:
        return await wait_for(_probe(probe, container, execute), float(probe.get("timeoutSeconds") or 1), clock=clock)
    except (OSError, TimeoutError, asyncio.IncompleteReadError, ValueError):
        return False


async def _probe(probe: Tree, container: Tree, execute: Execute) -> bool:
    if probe.get("exec"):
        return await execute(probe["exec"].get("command") or ()) == 0
    target = probe.get("httpGet") or probe.get("tcpSocket")
    if not target or target.get("scheme") == "HTTPS":
        return True
    reader, writer = await asyncio.open_connection(LOOPBACK, port_number(target.get("port"), container))
    try:
        if probe.get("tcpSocket"):
            return True
        host = target.get("host") or LOOPBACK
        head = [f"GET {target.get('path') or '/'} HTTP/1.1", f"Host: {host}", "User-Agent: kube-probe/1.36"]
        head += [f"{each['name']}: {each['value']}" for each in target.get("httpHeaders") or ()]
        writer.write("\r\n".join([*head, "Accept: */*", "Connection: close", "", ""]).encode())
        line = (await reader.readline())[:_HEAD_BYTES_MAX]
        return 200 <= int(line.split()[1]) < 400
    except IndexError:
        return False
    finally:
        writer.close()


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
