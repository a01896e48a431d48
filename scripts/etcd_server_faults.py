"""Random faults of API-server processes, of etcd members and of the network between them, under clients of the API.

Three ``steersman apiserver`` processes reach three members through TCP proxies of their own. While clients read, list, write
and delete ConfigMaps at all servers and watch them, servers and members are killed and paused, and servers are cut off
from one member or from all. A watch that ends goes on at any server from its last resource version. In every third run,
etcd is then restored from a snapshot: every open watch must end with 410 Expired, and no server may answer from the
history that is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from random import Random
from typing import TYPE_CHECKING, Any

from scripts.etcd_history import Listed, Operation, Watched, check
from scripts.etcd_links import Link
from scripts.ports import free_port

from steersman.asynckit.clock import RealClock
from steersman.client import Client, tree
from steersman.client.connecting import connect
from steersman.client.errors import AlreadyExists, ClientError, Expired, NotFound
from steersman.client.sending import RetryPolicy
from steersman.storage.etcd.store import EtcdStore
from steersman.storage.store import Event

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from scripts.etcd_cluster import EtcdCluster

CONFIG_MAP = tree("v1", "ConfigMap")
NAMESPACE = tree("v1", "Namespace")
NAMES = [f"k{number}" for number in range(4)]
SERVERS = 3
#: Faults of a run.
FAULTS = 4
#: Seconds of waiting for everything to work again, and of one request.
HEAL_SECONDS = 120
REQUEST_SECONDS = 5.0
#: Written last; a watch that has received it has received everything.
SENTINEL = "sentinel"
#: Lines of each server's log that are printed with a violation.
_LOG_LINES = 30
CLOCK = RealClock()


class ServerProcess:
    """An API server, its links to the members, and a client."""

    def __init__(self, number: int, cluster: EtcdCluster) -> None:
        self.name = f"s{number}"
        self.links = [Link(member) for member in cluster.members]
        self.folder: Path = cluster.folder / self.name
        self.port = free_port()
        self._log: Path = cluster.folder / f"{self.name}.log"
        self._process: subprocess.Popen[str] | None = None
        self._client: Client | None = None

    async def open(self) -> None:
        for link in self.links:
            await link.open()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def client(self) -> Client:
        assert self._client is not None
        return self._client

    def launch(self) -> None:
        """Start the process without waiting for it."""
        command = [
            sys.executable, "-m", "steersman", "apiserver", f"--port={self.port}", f"--data-dir={self.folder}",
            f"--name={self.name}", f"--etcd-servers={','.join(link.url for link in self.links)}",
            "--storage-media-type=application/json",
        ]  # fmt: skip
        with self._log.open("a") as log:
            self._process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log, text=True, env={**os.environ, "HOME": str(self.folder)}
            )

    def last_log_lines(self) -> list[str]:
        """Return the end of the log."""
        return [f"{self.name}: {line}" for line in self._log.read_text().splitlines()[-_LOG_LINES:]]

    async def await_ready(self) -> None:
        """Return when the server serves. Raises ``RuntimeError``."""
        assert self._process is not None
        assert self._process.stdout is not None
        line = await asyncio.to_thread(self._process.stdout.readline)
        if "is ready at" not in line:
            raise RuntimeError("\n".join([f"API server {self.name} did not start: {line}", *self.last_log_lines()]))
        if self._client is None:
            client = connect(self.folder / "admin.kubeconfig")
            retry = RetryPolicy(0, retry_failed_connections=False)
            self._client = client.with_options(deadline_seconds=REQUEST_SECONDS, retry=retry)

    def signal(self, number: int) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def kill(self) -> None:
        """End the process and wait for it. Idempotent."""
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._process = None

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
        self.kill()
        for link in self.links:
            await link.close()


class Watch:
    """Client that lists and watches at any server, and continues at another one when its watch ends."""

    def __init__(self, namespace: str, servers: list[ServerProcess], dice: Random, *, ends_early: bool) -> None:
        """``ends_early``: ask for a short timeout, so that the watch goes on at another server often."""
        self._namespace = namespace
        self._servers = servers
        self._dice = dice
        self._ends_early = ends_early
        #: One for each list; the last one may still grow.
        self.segments: list[Watched] = []
        self._segment = Watched(0)
        self.lists: list[Listed] = []
        #: Number of 410 answers, after each of which the client lists again.
        self.expirations = 0
        self.has_sentinel = False

    async def run(self) -> None:
        is_expired = True
        while True:
            client = self._dice.choice(self._servers).client
            try:
                if is_expired:
                    await self._list(client)
                    is_expired = False
                await self._follow(client, self._segment)
            except Expired:
                self.expirations += 1
                is_expired = True
            except ClientError:
                await CLOCK.sleep(0.05)

    async def _list(self, client: Client) -> None:
        items = await client.list(CONFIG_MAP, namespace=self._namespace)
        listed = listed_of(items)
        self.lists.append(listed)
        self._segment = Watched(listed.revision, listed.revision)
        self.segments.append(self._segment)
        self.has_sentinel = SENTINEL in listed.keys

    async def _follow(self, client: Client, watched: Watched) -> None:
        options: dict[str, Any] = {
            "resource_version": str(watched.until),
            "timeout_seconds": self._dice.randrange(1, 60),
        }
        async with client.watch(CONFIG_MAP, namespace=self._namespace, **options) as events:
            async for event in events:
                if event.type == "BOOKMARK":
                    watched.until = max(watched.until, int(event.object.metadata.resourceVersion))
                    continue
                name, revision, value = state_of(event.object)
                created = revision if event.type == "ADDED" else 0
                watched.events.append(Event(name, None if event.type == "DELETED" else value, created, revision))
                watched.until = revision
                self.has_sentinel |= name == SENTINEL


def state_of(item: dict[str, Any]) -> tuple[str, int, bytes]:
    """Return name, revision and value of a ConfigMap."""
    return item["metadata"]["name"], int(item["metadata"]["resourceVersion"]), item["data"]["v"].encode()


def listed_of(items: Any) -> Listed:
    revisions = {name: revision for name, revision, _ in map(state_of, items)}
    return Listed(int(items.resource_version), revisions)


def config_map(name: str, value: bytes, revision: int = 0) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name}
    if revision:
        metadata["resourceVersion"] = str(revision)
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"v": value.decode()}}


class ServerRun:
    """One seeded run on a cluster and its servers."""

    def __init__(self, cluster: EtcdCluster, servers: list[ServerProcess], seed: int) -> None:
        self._cluster = cluster
        self._servers = servers
        self._seed = seed
        self._dice = Random(seed)
        self._namespace = f"run-{seed}"
        self.operations: list[Operation] = []
        self._lists: list[Listed] = []
        self._time = 0
        self._is_over = False
        self.faults: list[str] = []

    def _tick(self) -> int:
        self._time += 1
        return self._time

    async def play(self) -> list[str]:
        """Return what is wrong with the history."""
        start = await self._create_namespace()
        is_restored = self._seed % 3 == 0
        # a restoration is certain to be noticed by watches that are open then
        watches = [
            Watch(self._namespace, self._servers, Random(self._dice.random()), ends_early=not is_restored)
            for _ in range(SERVERS)
        ]
        following = [asyncio.create_task(watch.run()) for watch in watches]
        try:
            async with self._clients():
                await self._disturb()
            violations = await self._finish(watches, start)
            if is_restored:
                violations += await self._restore(watches, start)
        finally:
            for task in following:
                task.cancel()
            outcomes = await asyncio.gather(*following, return_exceptions=True)
        violations += [f"a client failed: {outcome!r}" for outcome in outcomes if isinstance(outcome, Exception)]
        return violations

    async def _create_namespace(self) -> int:
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self._namespace}}
        client = self._servers[0].client

        async def ensure() -> dict[str, Any]:
            with contextlib.suppress(AlreadyExists):  # of a request whose answer was lost
                return await client.create(body)
            return await client.get(NAMESPACE, self._namespace)

        created = await until_answered(ensure)
        return int(created["metadata"]["resourceVersion"])

    # -- the clients ---------------------------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def _clients(self) -> Any:
        self._is_over = False
        work = [asyncio.create_task(self._work(server)) for server in self._servers for _ in range(2)]
        try:
            yield
        finally:
            self._is_over = True
            await asyncio.gather(*work)

    async def _work(self, server: ServerProcess) -> None:
        dice = Random(self._dice.random())
        #: Newest state that this client knows: revision and value; revision 0 for a missing object.
        observed: dict[str, tuple[int, bytes | None]] = {}
        while not self._is_over:
            name, action = dice.choice(NAMES), dice.choice(["get", "get", "list", "write", "write", "write", "delete"])
            with contextlib.suppress(ClientError):
                if action == "get":
                    await self._get(server, name, observed)
                elif action == "list":
                    await self._list(server)
                elif action == "write":
                    await self._write(server, name, observed, dice)
                else:
                    await self._delete(server, name, observed)
            await CLOCK.sleep(dice.random() * 0.2)

    async def _get(self, server: ServerProcess, name: str, observed: dict[str, tuple[int, bytes | None]]) -> None:
        begin = self._tick()
        try:
            _, revision, value = state_of(await server.client.get(CONFIG_MAP, name, namespace=self._namespace))
            observed[name] = revision, value
        except NotFound:
            observed[name] = 0, None
        self.operations.append(Operation("get", name, begin, self._tick(), *observed[name]))

    async def _list(self, server: ServerProcess) -> None:
        begin = self._tick()
        items = await server.client.list(CONFIG_MAP, namespace=self._namespace)
        end = self._tick()
        self._lists.append(listed_of(items))
        states = {name: (revision, value) for name, revision, value in map(state_of, items)}
        for name in NAMES:
            self.operations.append(Operation("list", name, begin, end, *states.get(name, (0, None))))

    async def _write(
        self, server: ServerProcess, name: str, observed: dict[str, tuple[int, bytes | None]], dice: Random
    ) -> None:
        value = b"%d" % dice.getrandbits(60)
        revision, _ = observed.pop(name, (0, None))
        begin = self._tick()
        if not revision:
            stored = await server.client.create(config_map(name, value), namespace=self._namespace)
        elif dice.random() < 0.5:
            stored = await server.client.update(config_map(name, value, revision), namespace=self._namespace)
        else:
            patch = {"data": {"v": value.decode()}}
            stored = await server.client.patch(CONFIG_MAP, name, patch, namespace=self._namespace)
        operation = Operation("write", name, begin, self._tick(), state_of(stored)[1], value)
        self.operations.append(operation)
        observed[name] = operation.revision, value

    async def _delete(self, server: ServerProcess, name: str, observed: dict[str, tuple[int, bytes | None]]) -> None:
        revision, value = observed.pop(name, (0, None))
        if not revision:
            return
        begin = self._tick()
        await server.client.delete(CONFIG_MAP, name, namespace=self._namespace, resource_version=str(revision))
        self.operations.append(Operation("delete", name, begin, self._tick(), revision, value))

    # -- the faults ----------------------------------------------------------------------------------------------------

    async def _disturb(self) -> None:
        for _ in range(FAULTS):
            await CLOCK.sleep(self._dice.uniform(0.1, 0.4))
            fault = self._dice.choice(
                ["kill server", "pause server", "cut", "freeze", "cut all", "freeze all", "kill member", "pause member"]
            )
            server, member = self._dice.choice(self._servers), self._dice.choice(self._cluster.members)
            self.faults.append(f"{fault} {member.name if 'member' in fault else server.name}")
            seconds = self._dice.uniform(0.2, 1.5)
            if fault == "kill server":
                server.kill()
                server.launch()
                await server.await_ready()
            elif fault == "pause server":
                server.signal(signal.SIGSTOP)
                await CLOCK.sleep(seconds)
                server.signal(signal.SIGCONT)
            elif fault == "kill member":
                member.kill()
                await CLOCK.sleep(seconds / 3)
                await asyncio.to_thread(member.start)
            elif fault == "pause member":
                member.pause()
                await CLOCK.sleep(seconds)
                member.resume()
            else:
                for link in server.links if fault.endswith("all") else [self._dice.choice(server.links)]:
                    link.freeze() if fault.startswith("freeze") else link.cut()
                await CLOCK.sleep(seconds)
                for link in server.links:
                    link.heal()

    async def _finish(self, watches: list[Watch], start: int) -> list[str]:
        """Wait until every watch has received a last write; return the violations."""
        violations = await self._settle(watches)
        history = await self._history(start)
        segments = [segment for watch in watches for segment in watch.segments]
        lists = [*self._lists, *(listed for watch in watches for listed in watch.lists)]
        return [*violations, *check(self.operations, segments, history, lists)]

    async def _settle(self, watches: list[Watch]) -> list[str]:
        for watch in watches:
            watch.has_sentinel = False
        value = b"%d" % self._dice.getrandbits(60)
        for server in self._servers:
            await until_answered(lambda server=server: self._put_sentinel(server, value))
        try:
            async with asyncio.timeout(HEAL_SECONDS):
                while not all(watch.has_sentinel for watch in watches):
                    await CLOCK.sleep(0.02)
        except TimeoutError:
            return ["a watch has not received the last write"]
        return []

    async def _put_sentinel(self, server: ServerProcess, value: bytes) -> None:
        try:
            await server.client.create(config_map(SENTINEL, value), namespace=self._namespace)
        except ClientError:
            await server.client.update(config_map(SENTINEL, value), namespace=self._namespace)

    async def _restore(self, watches: list[Watch], start: int) -> list[str]:
        """Restore etcd from a snapshot that is older than all servers, under clients; return the violations."""
        self.faults.append("restore")
        snapshot = self._cluster.folder / f"{self._namespace}.db"
        self._cluster.members[0].control("snapshot", "save", str(snapshot))
        async with self._clients():  # what they are answered is lost
            violations = await self._settle(watches)
        self.operations.clear()
        self._lists.clear()
        for member in self._cluster.members:
            member.kill()
        expirations = [watch.expirations for watch in watches]
        for watch in watches:
            watch.segments.clear()
            watch.lists.clear()
        await asyncio.to_thread(self._cluster.restore, snapshot, f"restored-{self._seed}")
        async with self._clients():
            for server in self._servers:
                await until_answered(lambda server=server: server.client.list(CONFIG_MAP, namespace=self._namespace))
            await CLOCK.sleep(0.3)
        violations += await self._finish(watches, start)
        return violations + [
            "a watch went on after etcd was restored"
            for watch, before in zip(watches, expirations, strict=True)
            if watch.expirations == before
        ]

    async def _history(self, start: int) -> list[Event]:
        """Return etcd's own history of the run."""
        store = await EtcdStore.open(
            self._cluster.urls, clock=CLOCK, compaction_interval_seconds=0, open_seconds=HEAL_SECONDS
        )
        prefix, whole = f"/registry/configmaps/{self._namespace}/", Watched(start)
        try:
            await store.watch(prefix, whole, after_revision=start, on_lost=whole.lose)
        finally:
            await store.close()
        return [shown(event, prefix) for event in whole.events]


def shown(event: Event, prefix: str) -> Event:
    """Return an event as clients of the API see it: a creation has its revision, other events have none of a creation."""
    is_creation = event.create_revision == event.mod_revision
    value = None if event.value is None else json.loads(event.value)["data"]["v"].encode()
    return Event(event.key.removeprefix(prefix), value, event.mod_revision if is_creation else 0, event.mod_revision)


async def until_answered(ask: Callable[[], Awaitable[Any]]) -> Any:
    """Repeat a request until it succeeds; return its answer."""
    async with asyncio.timeout(HEAL_SECONDS):
        while True:
            try:
                return await ask()
            except ClientError:
                await CLOCK.sleep(0.05)


@contextlib.asynccontextmanager
async def running_servers(cluster: EtcdCluster, count: int = SERVERS) -> Any:
    """Start API servers on a cluster; yields ``ServerProcess`` objects."""
    servers = [ServerProcess(number, cluster) for number in range(count)]
    try:
        for server in servers:
            await server.open()
            server.launch()
        for server in servers:
            await server.await_ready()
        yield servers
    finally:
        for server in servers:
            await server.close()
