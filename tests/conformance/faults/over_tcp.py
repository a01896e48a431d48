"""A control plane over TCP whose components reach the API server through a ``FaultProxy``."""

from __future__ import annotations

import asyncio
import os
import random
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from tests.conformance.faults.campaign import CONVERGENCE_SECONDS, observed
from tests.conformance.faults.proxy import FaultProxy
from tests.conformance.faults.workloads import CONTROLLERS, NAMESPACE, RolloutLimits, Workloads
from tests.conformance.informer.faults import Faults

from steersman.asynckit.clock import RealClock
from steersman.client.connecting import connect
from steersman.controllers.manager.options import ManagerOptions
from steersman.controlplane.apiserver import APIServer
from steersman.controlplane.components import run_nodes, run_scheduler
from steersman.controlplane.controller_manager import run_controller_manager
from steersman.controlplane.options import APIServerOptions
from steersman.nodes.options import NodesOptions
from steersman.scheduler.options import set_up

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from tests.conformance.faults.proxy import Plan

    from steersman.client import Client

#: Percent of requests; ambiguous ones come on top of these.
REFUSALS = ("429",) * 3 + ("500",) * 4 + ("409",) * 3 + ("lost",) * 2 + ("slow",) * 2
AMBIGUOUS = ("answer lost", "duplicate")
#: Chance that a piece of a watch is cut.
PIECE_RATE = 0.02
_FIRST_SECONDS = 300.0
_POLL_SECONDS = 0.5


@asynccontextmanager
async def proxied(plan: Plan, folder: Path) -> AsyncIterator[tuple[Client, Path]]:
    """Start an API server and a proxy; yield a client without faults, and the kubeconfig of clients with faults."""
    server = await APIServer.start(APIServerOptions(ephemeral=True, secure_port=0, data_dir=folder / "server"))
    try:
        async with FaultProxy(server.kubeconfig, plan).running() as proxy, connect(server.kubeconfig) as client:
            account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
            await client.create(account, namespace=NAMESPACE)
            yield client, proxy.write_kubeconfig(folder / "faulty")
    finally:
        await server.stop(grace_seconds=0)


@asynccontextmanager
async def components(kubeconfig: Path, *names: str) -> AsyncIterator[None]:
    """Run components as their commands do, until the block ends. Raise AssertionError if one has ended before."""
    reading, writing = os.pipe()
    runs: dict[str, Callable[[int], Any]] = {
        "scheduler": lambda pipe: run_scheduler(set_up(kubeconfig=kubeconfig, port=0), parent_pipe=pipe),
        "nodes": lambda pipe: run_nodes(NodesOptions(kubeconfig=kubeconfig, nodes=2), parent_pipe=pipe),
        "controller-manager": lambda pipe: run_controller_manager(
            ManagerOptions(
                kubeconfig=kubeconfig, port=0, controllers=CONTROLLERS, use_service_account_credentials=True
            ),
            parent_pipe=pipe,
        ),
    }
    pipes = [os.dup(reading) for _ in names]
    tasks = {name: asyncio.ensure_future(runs[name](pipe)) for name, pipe in zip(names, pipes, strict=True)}
    try:
        yield
        ended = [name for name, task in tasks.items() if task.done()]
        assert not ended, f"{ended} ended with {[tasks[name].result() for name in ended]}"
    finally:
        os.close(writing)
        codes = await asyncio.gather(*tasks.values())
        for pipe in (*pipes, reading):
            os.close(pipe)
    assert codes == [0] * len(names), codes


async def play(seed: int, folder: Path, *, ambiguous: bool) -> dict[str, float]:
    """Play one campaign in real time; return how often each fault happened, and the seconds until convergence."""
    dice = random.Random(seed)
    kinds = (*REFUSALS, *(AMBIGUOUS if ambiguous else ()))
    faults = Faults(dice, len(kinds) / 100, PIECE_RATE, request_kinds=kinds, piece_kinds=("cut", "cut inside", "end"))
    async with (
        proxied(faults, folder) as (client, kubeconfig),
        components(kubeconfig, "scheduler", "nodes", "controller-manager"),
    ):
        workloads, limits = Workloads(client), RolloutLimits("web")
        async with observed(client, limits):
            await workloads.create()
            await _until(workloads.not_available, _FIRST_SECONDS)
            limits.is_checked = not ambiguous
            await workloads.roll_out()
            await RealClock().sleep(dice.uniform(1, 30))
            faults.stop()
            seconds = await _until(workloads.not_converged, CONVERGENCE_SECONDS)
    assert not limits.violations, f"seed {seed}: {limits.violations}"
    return {**faults.seen, "convergence_seconds": round(seconds, 1)}


async def _until(wrong: Callable[[], Any], seconds: float) -> float:
    started_at = time.monotonic()
    while text := await wrong():
        assert time.monotonic() < started_at + seconds, f"after {seconds:.0f} s: {text}"
        await RealClock().sleep(_POLL_SECONDS)
    return time.monotonic() - started_at
