"""Probes of process containers: exec, and HTTP, HTTPS, TCP or gRPC on loopback. Upstream: pkg/kubelet/prober, pkg/probe."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Final, NamedTuple

from steersman.apimachinery.gotext import errno_text
from steersman.asynckit.timeouts import wait_for
from steersman.extras import MissingPackagesError
from steersman.nodes.processes.fields import LOOPBACK
from steersman.nodes.processes.grpc_health import check_health
from steersman.nodes.processes.http import get, port_number

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.asynckit.clock import Clock

    #: Runs a command; returns its exit code and the beginning of its output.
    Execute = Callable[[Sequence[str]], Awaitable[tuple[int, bytes]]]

_PORT_MAX: Final = 65535


class ProbeError(Exception):
    """A probe could not run. Its result is unknown and does not count; the message is the reason."""


class ProbeResult(NamedTuple):
    """Result of running a probe once; ``output`` explains a failure."""

    has_passed: bool
    output: str = ""


async def run_probe(probe: Tree, container: Tree, *, execute: Execute, clock: Clock) -> ProbeResult:
    """Run the probe once. Raises ``ProbeError``."""
    seconds = float(probe.get("timeoutSeconds") or 1)
    if probe.get("grpc") is not None:
        return await _grpc(probe["grpc"], seconds=seconds, clock=clock)
    try:
        return await wait_for(_run(probe, container, execute), seconds, clock=clock)
    except TimeoutError:
        return ProbeResult(False, _timeout_text(probe, container, seconds))


async def _run(probe: Tree, container: Tree, execute: Execute) -> ProbeResult:
    if probe.get("exec") is not None:
        return await _exec(probe["exec"].get("command") or (), execute)
    if probe.get("httpGet") is not None:
        return await _http(probe["httpGet"], container)
    if probe.get("tcpSocket") is not None:
        return await _tcp(_port(probe["tcpSocket"], container))
    raise ProbeError("missing probe handler")


async def _exec(command: Sequence[str], execute: Execute) -> ProbeResult:
    try:
        code, output = await execute(command)
    except OSError as error:
        raise ProbeError(f"failed to exec in container: {errno_text(error)}") from error
    return ProbeResult(code == 0, output.decode(errors="replace"))


async def _http(action: Tree, container: Tree) -> ProbeResult:
    port = _port(action, container)
    try:
        code = await get(action, container, agent="kube-probe/1.36")
    except (OSError, ValueError, asyncio.IncompleteReadError) as error:
        reason = f"dial tcp {LOOPBACK}:{port}: {_dial_text(error)}" if isinstance(error, OSError) else str(error)
        return ProbeResult(False, f'Get "{_url(action, port)}": {reason}')
    has_passed = 200 <= code < 400
    return ProbeResult(has_passed, "" if has_passed else f"HTTP probe failed with statuscode: {code}")


def _url(action: Tree, port: int) -> str:
    path = "/" + str(action.get("path") or "/").removeprefix("/")
    return f"{str(action.get('scheme') or 'HTTP').lower()}://{action.get('host') or LOOPBACK}:{port}{path}"


async def _tcp(port: int) -> ProbeResult:
    try:
        _, writer = await asyncio.open_connection(LOOPBACK, port)
    except OSError as error:
        return ProbeResult(False, f"dial tcp {LOOPBACK}:{port}: {_dial_text(error)}")
    writer.close()
    return ProbeResult(True)


async def _grpc(action: Tree, *, seconds: float, clock: Clock) -> ProbeResult:
    try:
        failure = await check_health(
            int(action.get("port") or 0), action.get("service") or "", seconds=seconds, clock=clock
        )
    except MissingPackagesError as error:
        raise ProbeError(str(error)) from error
    return ProbeResult(not failure, failure)


def _port(action: Tree, container: Tree) -> int:
    port = port_number(action.get("port"), container)
    if not 0 < port <= _PORT_MAX:
        raise ProbeError(f"couldn't find port: {action.get('port')}")
    return port


def _dial_text(error: OSError) -> str:
    if error.errno is None:
        return str(error)
    return f"connect: {os.strerror(error.errno).lower()}"


def _timeout_text(probe: Tree, container: Tree, seconds: float) -> str:
    if probe.get("exec") is not None:
        words = " ".join(probe["exec"].get("command") or ())
        return f'command timed out: "{words}" timed out after {seconds:g}s'
    if probe.get("httpGet") is not None:
        url = _url(probe["httpGet"], _port(probe["httpGet"], container))
        return f'Get "{url}": context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
    return f"dial tcp {LOOPBACK}:{_port(probe['tcpSocket'], container)}: i/o timeout"


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

    @property
    def has_failed(self) -> bool:
        """True after enough consecutive failures, even without an earlier success."""
        return not self._last and self._run >= self._needed[False]

    def count(self, answer: bool) -> bool:  # noqa: FBT001 — an answer is yes or no
        """Count one result; return True if the overall result changed."""
        self._run = self._run + 1 if answer is self._last else 1
        self._last = answer
        if self._run < self._needed[answer]:
            return False
        has_changed = self.passing is not answer
        self.passing = answer
        return has_changed
