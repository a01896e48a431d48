"""Compare the watches of Python clients under network and server faults; prints the table of ``docs/toolkit.md``.

python -m scripts.compare_informers [--seeds 2] [--only steersman,kopf] [--classes cut,stall]

One API server in this process; each client runs in a process of its own, behind a proxy of its own that injects random
faults into its requests for ConfigMaps over TCP (``tests/conformance/informer/faults.py``). Meanwhile objects are
created, changed and deleted. Then faults and writes stop, and every client has ``GRACE_SECONDS`` to agree with the
server.
"""
# ruff: noqa: PLC0415 — each contestant's process loads what it needs, and nothing of the others

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import logging
import os
import random
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aiohttp import web
from lightkube.models.core_v1 import ConfigMap
from lightkube.models.meta_v1 import ObjectMeta
from tests.conformance.informer.faults import Faults, FaultyTransport

from steersman.asynckit.clock import RealClock
from steersman.client import Client
from steersman.client.transport import Request, TransportError
from steersman.controlplane.loopback_transport import LoopbackTransport
from steersman.testing import InProcessAPIServer

if TYPE_CHECKING:
    from collections.abc import Mapping

FAULT_SECONDS = 12.0
GRACE_SECONDS = 30.0
#: Timeout of a silent watch for clients that have such an option.
IDLE_SECONDS = 5.0
WRITES_PER_SECOND = 10

#: Name → faults of requests, faults of streams.
CLASSES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "cut": ((), ("cut", "cut inside", "end")),
    "stall": ((), ("stall",)),
    "expired": ((), ("error 410",)),
    "refused": (("lost", "500", "503", "429", "409", "410"), ("end",)),
    "replay": ((), ("replay", "end")),
    "all": (
        ("lost", "500", "503", "429", "409", "410", "slow"),
        ("cut", "cut inside", "end", "stall", "slow", "replay", "error 410", "error 500", "torn"),
    ),
}

Cache = dict[str, str]


# The clients. Each keeps name → version in ``cache``, as its documentation suggests.


async def steersman(kubeconfig: str, cache: Cache) -> None:
    """Fill ``cache`` with an ``InformerFactory``."""
    from steersman.client import InformerFactory, ReflectorOptions, connect

    async with (
        connect(kubeconfig) as client,
        InformerFactory(client, options=ReflectorOptions(idle_seconds=IDLE_SECONDS)) as informers,
    ):
        informer = informers.informer(ConfigMap, namespace="default")
        informers.start()
        while True:
            await asyncio.sleep(0.05)  # noqa: TID251 — a script on the machine's clock
            fresh = {obj.metadata.name: obj.metadata.resourceVersion for obj in informer.lister}
            cache.clear()
            cache.update(fresh)


async def kubernetes(kubeconfig: str, cache: Cache) -> None:
    """Fill ``cache`` with a ``SharedInformer`` with its defaults."""
    await _kubernetes(kubeconfig, cache, 0)


async def kubernetes_resync(kubeconfig: str, cache: Cache) -> None:
    """Fill ``cache`` with a ``SharedInformer`` that relists every ``IDLE_SECONDS``."""
    await _kubernetes(kubeconfig, cache, IDLE_SECONDS)


async def _kubernetes(kubeconfig: str, cache: Cache, resync_seconds: float) -> None:
    from kubernetes import client, config
    from kubernetes.informer import SharedInformer

    config.load_kube_config(kubeconfig)
    core = client.CoreV1Api()
    informer = SharedInformer(core.list_namespaced_config_map, namespace="default", resync_period=resync_seconds)
    informer.start()
    while True:
        await asyncio.sleep(0.05)  # noqa: TID251 — as above
        fresh = {obj.metadata.name: obj.metadata.resource_version for obj in informer.cache.list()}
        cache.clear()
        cache.update(fresh)


async def kubernetes_aio(kubeconfig: str, cache: Cache) -> None:
    """Fill ``cache`` without an informer: a loop of LIST and WATCH, restarted when the watch ends or fails."""
    from kubernetes.aio import client, config, watch

    await config.load_kube_config(kubeconfig)
    async with client.ApiClient() as api:
        core = client.CoreV1Api(api)
        while True:
            with contextlib.suppress(Exception):
                listed = await core.list_namespaced_config_map("default")
                cache.clear()
                cache.update({obj.metadata.name: obj.metadata.resource_version for obj in listed.items})
                async with watch.Watch() as stream:
                    async for event in stream.stream(
                        core.list_namespaced_config_map,
                        "default",
                        resource_version=listed.metadata.resource_version,
                        _request_timeout=IDLE_SECONDS,
                    ):
                        _take(
                            cache,
                            event["type"],
                            event["object"].metadata.name,
                            event["object"].metadata.resource_version,
                        )
            await asyncio.sleep(0.5)  # noqa: TID251 — as above


async def kr8s(kubeconfig: str, cache: Cache) -> None:
    """Fill ``cache`` without an informer: ``kr8s.asyncio.watch``, restarted as its documentation suggests."""
    import kr8s.asyncio as k

    api = await k.api(kubeconfig=kubeconfig)
    while True:
        with contextlib.suppress(Exception):
            fresh = {obj.name: obj.metadata.resourceVersion async for obj in api.get("configmaps", namespace="default")}
            cache.clear()
            cache.update(fresh)
            async for kind, obj in api.watch("configmaps", namespace="default"):
                _take(cache, kind, obj.name, obj.metadata.resourceVersion)
        await asyncio.sleep(0.5)  # noqa: TID251 — as above


async def kopf(kubeconfig: str, cache: Cache) -> None:
    """Fill ``cache`` with an operator's event handler; ``inactivity_timeout`` is ``IDLE_SECONDS``."""
    import kopf as k

    os.environ["KUBECONFIG"] = kubeconfig

    @k.on.startup()
    def configure(settings: Any, **_: Any) -> None:
        settings.watching.inactivity_timeout = IDLE_SECONDS
        settings.posting.enabled = False
        settings.scanning.disabled = True

    @k.on.login()
    def login(**arguments: Any) -> Any:
        return k.login_with_kubeconfig(**arguments)

    by_uid: dict[str, tuple[str, str]] = {}

    @k.on.event("configmaps")
    def record(type: str | None, name: str, uid: str, meta: Any, **_: Any) -> None:  # noqa: A002 — kopf's name
        # Objects of one name are distinguished by UID: kopf delivers changes of each in a task of its own.
        by_uid.pop(uid, None)
        if type != "DELETED":
            by_uid[uid] = (name, meta["resourceVersion"])
        cache.clear()
        cache.update(by_uid.values())

    await k.operator(namespaces=["default"], standalone=True)


CONTESTANTS = {
    "steersman": steersman,
    "kubernetes": kubernetes,
    "kubernetes (resync)": kubernetes_resync,
    "kubernetes.aio": kubernetes_aio,
    "kr8s": kr8s,
    "kopf": kopf,
}


def _take(cache: Cache, kind: str, name: str, version: str) -> None:
    if kind == "DELETED":
        cache.pop(name, None)
    elif kind in ("ADDED", "MODIFIED"):
        cache[name] = version


def child(name: str, kubeconfig: str) -> None:
    """Maintain the cache; print it for each line of input until the end of input."""
    cache: Cache = {}
    logging.disable(logging.CRITICAL)

    def answer() -> None:
        for _ in sys.stdin:
            print(json.dumps(dict(cache)), flush=True)
        os._exit(0)

    threading.Thread(target=answer, daemon=True).start()
    asyncio.run(CONTESTANTS[name](kubeconfig, cache))


# The server's side.


@dataclass
class Contestant:
    """One client process behind one proxy."""

    name: str
    faults: Faults
    process: asyncio.subprocess.Process
    lists: int = 0
    watches: int = 0
    agreed_after: float | None = None
    has_ended: bool = False
    requests: Counter[str] = field(default_factory=Counter)

    async def cache(self) -> Cache | None:
        """Return the cache of the client; None if it has ended."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with contextlib.suppress(ConnectionError):
            self.process.stdin.write(b"\n")
            await self.process.stdin.drain()
            line = await self.process.stdout.readline()
            if line:
                return dict(json.loads(line))
        self.has_ended = True
        return None


class Proxy:
    """HTTP server that forwards to a transport."""

    def __init__(self, plain: LoopbackTransport, faulty: FaultyTransport) -> None:
        self._plain = plain
        self._faulty = faulty
        self.counts: Counter[str] = Counter()

    async def handle(self, incoming: web.Request) -> web.StreamResponse:
        """Forward a request; a fault of the transport breaks the connection here."""
        is_measured = incoming.path == "/api/v1/namespaces/default/configmaps" and incoming.method == "GET"
        is_watch = incoming.query.get("watch") in ("true", "True", "1")
        if is_measured:
            self.counts["watch" if is_watch else "list"] += 1
        headers = {key.lower(): value for key, value in incoming.headers.items()}
        for name in ("host", "connection", "accept-encoding", "authorization", "content-length"):
            headers.pop(name, None)
        body = await incoming.read() or None
        request = Request(incoming.method, incoming.path, tuple(incoming.query.items()), headers, body)
        transport = self._faulty if is_measured else self._plain
        try:
            if not is_watch:
                answer = await transport.request(request)
                return web.Response(status=answer.status, headers=_end_to_end_headers(answer.headers), body=answer.body)
            async with transport.open(request) as stream:
                outgoing = web.StreamResponse(status=stream.status, headers=_end_to_end_headers(stream.headers))
                await outgoing.prepare(incoming)
                async for piece in stream:
                    await outgoing.write(piece)
                await outgoing.write_eof()
                return outgoing
        except TransportError:
            assert incoming.transport is not None
            incoming.transport.abort()
            raise ConnectionResetError from None


def _end_to_end_headers(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name not in ("content-length", "transfer-encoding")}


def kubeconfig_for(port: int, folder: Path) -> Path:
    """Write a kubeconfig for a proxy."""
    tree = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x", "namespace": "default"}}],
        "clusters": [{"name": "x", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "x", "user": {"token": "t"}}],
    }
    path = folder / f"{port}.json"
    path.write_text(json.dumps(tree))
    return path


async def write(client: Client, dice: random.Random, seconds: float) -> None:
    """Create, change and delete objects at random."""
    existing: dict[str, ConfigMap] = {}
    for number in range(int(seconds * WRITES_PER_SECOND)):
        name = f"name-{dice.randrange(10)}"
        previous = existing.pop(name, None)
        if previous is None:
            existing[name] = await client.create(ConfigMap(metadata=ObjectMeta(name=name)))
        elif dice.random() < 0.4:
            await client.delete_object(previous)
        else:
            previous.data = {"number": str(number)}
            existing[name] = await client.update(previous)
        await asyncio.sleep(1 / WRITES_PER_SECOND)  # noqa: TID251 — as above


async def measure(kind: str, seed: int, names: list[str]) -> list[Contestant]:
    """Measure one class of faults, all clients at once."""
    request_kinds, piece_kinds = CLASSES[kind]
    runners: list[web.AppRunner] = []
    contestants: list[Contestant] = []
    proxies: list[Proxy] = []
    with tempfile.TemporaryDirectory() as place:
        async with InProcessAPIServer() as server:
            direct = Client(LoopbackTransport(server.core.client))
            await direct.create(ConfigMap(metadata=ObjectMeta(name="first")))
            for name in names:
                faults = Faults(random.Random(seed), 0, 0, request_kinds, piece_kinds)
                plain = LoopbackTransport(server.core.client)
                proxy = Proxy(plain, FaultyTransport(plain, faults, clock=RealClock()))
                app = web.Application()
                app.router.add_route("*", "/{path:.*}", proxy.handle)
                runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
                await runner.setup()
                site = web.TCPSite(runner, "127.0.0.1", 0)
                await site.start()
                port = runner.addresses[0][1]
                process = await asyncio.create_subprocess_exec(
                    sys.executable, "-m", "scripts.compare_informers", "--child", name,
                    str(kubeconfig_for(port, Path(place))),
                    stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
                )  # fmt: skip
                runners.append(runner)
                proxies.append(proxy)
                contestants.append(Contestant(name, faults, process))
            try:
                await _round(direct, contestants, seed)
            finally:
                for contestant, proxy in zip(contestants, proxies, strict=True):
                    contestant.requests = proxy.counts
                    with contextlib.suppress(ProcessLookupError):
                        contestant.process.kill()
                    await contestant.process.wait()
                for runner in runners:
                    await runner.cleanup()
    return contestants


async def _round(direct: Client, contestants: list[Contestant], seed: int) -> None:
    await _agree(direct, contestants, 30)
    late = [c.name for c in contestants if c.agreed_after is None]
    if late:
        raise RuntimeError(f"did not even start: {', '.join(late)}")
    for contestant in contestants:
        contestant.agreed_after = None
        contestant.faults.request_rate = contestant.faults.piece_rate = 0.3
    await write(direct, random.Random(seed), FAULT_SECONDS)
    for contestant in contestants:
        contestant.faults.stop()
    await _agree(direct, contestants, GRACE_SECONDS)


async def _agree(direct: Client, contestants: list[Contestant], seconds: float) -> None:
    """Record when each cache equals the server's state."""
    start = time.monotonic()
    expected = {o.metadata.name: o.metadata.resourceVersion for o in await direct.list(ConfigMap, namespace="default")}
    while time.monotonic() - start < seconds and any(c.agreed_after is None for c in contestants):
        for contestant in contestants:
            if contestant.agreed_after is None and await contestant.cache() == expected:
                contestant.agreed_after = time.monotonic() - start
        await asyncio.sleep(0.1)  # noqa: TID251 — as above


def cell(rounds: list[Contestant]) -> str:
    """Format how often the client agreed in the end, the median time, and its requests to the server."""
    times = [c.agreed_after for c in rounds if c.agreed_after is not None]
    lists, watches = (statistics.mean(c.requests[kind] for c in rounds) for kind in ("list", "watch"))
    after = f", {statistics.median(times):.1f} s" if times else ""
    ended = sum(c.has_ended for c in rounds)
    fate = f", {ended} ended" if ended else ""
    return f"{len(times)}/{len(rounds)}{after}{fate} ({lists:.0f} + {watches:.0f})"


async def compare(names: list[str], kinds: list[str], seeds: int) -> None:
    """Print the table."""
    rows: dict[str, dict[str, str]] = {name: {} for name in names}
    for kind in kinds:
        rounds = [await measure(kind, seed, names) for seed in range(seeds)]
        for at, name in enumerate(names):
            rows[name][kind] = cell([contestants[at] for contestants in rounds])
            print(f"# {kind}: {name}: {rows[name][kind]}", file=sys.stderr, flush=True)
    print(f"| | {' | '.join(kinds)} |")
    print(f"| --- {'| --- ' * len(kinds)}|")
    for name, row in rows.items():
        print(f"| {name} | {' | '.join(row[kind] for kind in kinds)} |")


def main() -> None:
    """Run the comparison; see the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--only", default=",".join(CONTESTANTS), help="contestants, by comma")
    parser.add_argument("--classes", default=",".join(CLASSES))
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(*arguments.child)
        return
    logging.getLogger().setLevel(logging.CRITICAL)
    names = list(CONTESTANTS) if arguments.only == parser.get_default("only") else arguments.only.split(",")
    asyncio.run(compare(names, arguments.classes.split(","), arguments.seeds))


if __name__ == "__main__":
    main()
