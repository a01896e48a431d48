"""``Cluster``: control plane of one test, in its own process."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from steersman.testing.errors import ClusterError
from steersman.testing.host.options import ClusterOptions
from steersman.testing.kit.clock import ClusterClock
from steersman.testing.kit.connection import CALL_SECONDS, ClusterProcess
from steersman.testing.kit.faults import ClusterFaults, ClusterNodes, ClusterPods
from steersman.testing.kit.operators import Operator, check_file, kopf_command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import ModuleType, TracebackType

    from steersman.client import Client
    from steersman.testing.kit.manifests import Manifests
    from steersman.testing.kit.webhooks import WebhookServing

_KUBECTL_SECONDS: Final = 60.0


class Snapshot:
    """State of a cluster, for ``fork`` and ``rewind``, also of other clusters."""

    def __init__(self, data: bytes) -> None:
        self.data: Final = data

    def __repr__(self) -> str:
        return f"<Snapshot of {len(self.data)} bytes>"


class Cluster:
    """Control plane in its own process: API server, controllers, scheduler and simulated nodes.

    Runs from its creation until ``stop``, or inside ``with``. Methods block; in a coroutine use ``aio``, which has them
    as coroutines. They may be called from any thread.
    """

    def __init__(self, *, snapshot: Snapshot | None = None, **options: Any) -> None:
        """Start a cluster, optionally from a snapshot; ``options`` are the fields of ``ClusterOptions``.

        Raises ``ClusterOptionError``, ``ClusterError``.
        """
        self._options: Final = ClusterOptions.of(options)
        self._process: Final = ClusterProcess(self._options, None if snapshot is None else snapshot.data)
        self._forks: Final[list[Cluster]] = []
        self._webhook_servings: Final[list[WebhookServing]] = []
        #: Operators that ``run`` and ``run_command`` started.
        self.operators: Final[list[Operator]] = []
        description = self._process.description
        self.url: Final[str] = description["url"]
        #: Bearer token of a user in ``system:masters``.
        self.token: Final[str] = description["token"]
        #: Kubeconfig of the administrator, with a client certificate.
        self.kubeconfig: Final = Path(description["kubeconfig"])
        #: CA certificate file of the server.
        self.ca: Final = Path(description["ca"])
        self.pid: Final[int] = description["pid"]
        #: Clock of the cluster.
        self.clock: Final = ClusterClock(self._process)
        #: Faults in the request path.
        self.faults: Final = ClusterFaults(self._process)
        #: Failures of simulated nodes and pods.
        self.nodes: Final = ClusterNodes(self._process)
        self.pods: Final = ClusterPods(self._process)
        #: The methods of the cluster as coroutines, which do not block the event loop.
        self.aio: Final = AsyncMethods(self)

    # Lifecycle

    def stop(self) -> None:
        """Stop the cluster, its operators and its forks; release its port and remove its files. Idempotent."""
        for operator in self.operators:
            operator.stop()
        for fork in self._forks:
            fork.stop()
        for serving in self._webhook_servings:
            serving.close()
        self._process.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def cpu_seconds(self) -> float:
        """CPU time of the cluster's process so far."""
        seconds: float = self._process.call("cpu_seconds")
        return seconds

    @property
    def is_running(self) -> bool:
        """Report whether ``stop`` has not been called."""
        return self._process.is_running

    def crash(self) -> None:
        """Stop all components as ``kill -9`` would; the port refuses connections until ``restart``."""
        self._process.call("crash")

    def restart(self) -> None:
        """Crash, unless crashed already, and start again with the same objects and URL."""
        self._process.call("restart")

    # State

    def snapshot(self) -> Snapshot:
        """Return the current state. Raises ``ClusterError`` for ``store="sqlite"``."""
        return Snapshot(self._process.call("snapshot"))

    def settled_snapshot(self) -> Snapshot:
        """Return the state after the cluster has settled. Raises ``SettleError``."""
        self.settle()
        return self.snapshot()

    def fork(self, snapshot: Snapshot | None = None, **options: Any) -> Cluster:
        """Return another cluster with the state of a snapshot, by default the current state; it stops with this one.

        ``options`` replace those of this cluster. Raises ``ClusterError`` for a cluster that is stopped.
        """
        snapshot = snapshot or self.snapshot()
        fork = Cluster(snapshot=snapshot, **{**self._given_options(), **options})
        self._forks.append(fork)
        return fork

    def _given_options(self) -> dict[str, Any]:
        return {name: getattr(self._options, name) for name in ClusterOptions.__struct_fields__}

    def rewind(self, snapshot: Snapshot) -> None:
        """Return to a state: same URL, watches end with 410, resource versions do not repeat, and the clock continues."""
        self._process.call("rewind", data=snapshot.data)

    def reset(self) -> None:
        """Restore the state in which the cluster started."""
        self._process.call("reset")

    # Objects

    @contextmanager
    def namespace(self, prefix: str = "test") -> Iterator[str]:
        """Create a namespace with a unique name, and delete it at the end."""
        name = f"{prefix}-{secrets.token_hex(4)}"
        self._process.call("create_namespace", {"name": name})
        try:
            yield name
        finally:
            self._process.call("delete_namespace", {"name": name})

    def apply(self, manifests: Manifests, *, namespace: str = "") -> list[dict[str, Any]]:
        """Apply objects server-side, in order, and return them as stored.

        ``manifests`` is an object or a list of them, YAML or JSON text, or the path of a file or of a folder of files.
        Raises ``ClusterError``.
        """
        from steersman.testing.kit.manifests import read_manifests  # noqa: PLC0415 — loads YAML

        arguments = {"documents": read_manifests(manifests), "namespace": namespace}
        applied: list[dict[str, Any]] = self._process.call("apply", arguments)
        return applied

    def install_webhooks(self, manifests: Manifests) -> WebhookServing:
        """Apply webhook configurations and definitions, whose Services are replaced by an address of this machine.

        Returns the address and a directory with a certificate for it: start the operator with them. Raises ``ClusterError``.
        """
        from steersman.testing.kit.manifests import read_manifests  # noqa: PLC0415 — loads YAML
        from steersman.testing.kit.webhooks import WebhookServing  # noqa: PLC0415 — when needed
        from steersman.testing.webhook_manifests import local_webhooks  # noqa: PLC0415 — when needed

        objects = read_manifests(manifests)
        serving = WebhookServing(self._process.directory / f"webhooks-{len(self._webhook_servings)}")
        self._webhook_servings.append(serving)
        self.apply(local_webhooks(objects, url=serving.url, ca_bundle=serving.ca_bundle))
        return serving

    def client(self, **options: Any) -> Client:
        """Return an asynchronous client of the administrator; ``options`` are those of ``steersman.client.connect``."""
        from steersman.client import connect  # noqa: PLC0415 — loads the HTTP library

        return connect(self.kubeconfig, **options)

    def kubectl(self, *arguments: str, stdin: str = "") -> str:
        """Return the output of kubectl. Raises ``ClusterError`` for an exit code other than 0, and without kubectl."""
        path = shutil.which("kubectl")
        if path is None:
            raise ClusterError("kubectl is not on $PATH")
        done = subprocess.run(  # noqa: S603 — command of the test
            [path, *arguments],
            input=stdin,
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=_KUBECTL_SECONDS,
            check=False,
        )
        if done.returncode:
            raise ClusterError(
                f"kubectl {' '.join(arguments)}: exit code {done.returncode}\n{done.stderr}{done.stdout}"
            )
        return done.stdout

    def environment(self) -> dict[str, str]:
        """Return this process's environment for clients of the cluster, kubectl with a cache of its own."""
        cache = str(self._process.directory / "kubectl-cache")
        return {**os.environ, "KUBECONFIG": str(self.kubeconfig), "KUBECACHEDIR": cache}

    def events(self, *, limit: int = 20, timeout_seconds: float = CALL_SECONDS) -> list[dict[str, Any]]:
        """Return the newest Events of all namespaces, oldest first."""
        events: list[dict[str, Any]] = self._process.call("events", {"limit": limit}, timeout_seconds=timeout_seconds)
        return events

    # Waits. Timeouts are time of the cluster's clock, that of ``settle`` is real time.

    def settle(self, timeout: float = 60.0, *, quiet_seconds: float | None = None) -> None:
        """Wait until caches, queues and requests are idle and no timer is due; time does not pass.

        Clients in other processes count as settled after ``quiet_seconds`` (default: the option of the cluster) without a
        request or a watch event. Raises ``SettleError``, which lists the remaining work.
        """
        arguments = {"timeout": timeout, "quiet_seconds": quiet_seconds}
        self._process.call("settle", arguments, timeout_seconds=timeout + CALL_SECONDS)

    def wait_for(
        self, reference: str, condition: str, *, namespace: str = "default", timeout: float = 60.0
    ) -> dict[str, Any]:
        """Wait until an object has a condition of ``kubectl wait`` and return it: ``wait_for("deployment/web",
        "condition=Available")``.

        Virtual time advances meanwhile. Raises ``WaitError`` with the history of the object.
        """
        arguments = {"reference": reference, "condition": condition, "namespace": namespace, "timeout": timeout}
        awaited: dict[str, Any] = self._process.call("wait_for", arguments, timeout_seconds=timeout + CALL_SECONDS)
        return awaited

    def eventually(self, predicate: Callable[[], Any], *, timeout: float = 60.0) -> Any:
        """Return the first true result of a function, which is called after changes; virtual time advances meanwhile.

        An AssertionError of the function counts as false. Raises ``WaitError``.
        """
        from steersman.testing.waiting import WaitError  # noqa: PLC0415 — when needed

        seen, now, _ = self._process.call("step", {"seen": -1, "within_seconds": 0.0})
        deadline, goes_on, last = now + timeout, True, None
        while True:
            try:
                result = predicate()
            except AssertionError as error:
                last, result = error, None
            if result:
                return result
            if not goes_on:
                break
            seen, now, goes_on = self._process.call("step", {"seen": seen, "within_seconds": deadline - now})
        name = getattr(predicate, "__qualname__", str(predicate))
        raise WaitError(f"{name} did not hold within {timeout:g} seconds; the last result is {result!r}") from last

    def wait_for_request(self, *, timeout: float = 30.0, **patterns: Any) -> dict[str, Any]:
        """Wait for a request that matches patterns (see ``requests``) and return it.

        ``timeout`` is real time, in which an operator in another process starts; virtual time does not advance. Raises
        ``WaitError``.
        """
        arguments = {"timeout": timeout, **patterns}
        request: dict[str, Any] = self._process.call(
            "wait_for_request", arguments, timeout_seconds=timeout + CALL_SECONDS
        )
        return request

    # Observations

    def requests(self, **patterns: Any) -> list[dict[str, Any]]:
        """Return the latest requests that match ``user``, ``user_agent``, ``verb``, ``resource``, ``name``, ``code``.

        Fields are those of ``RequestRecord``; ``text`` is the request in one line.
        """
        requests: list[dict[str, Any]] = self._process.call("requests", patterns)
        return requests

    def history(self, reference: str, *, namespace: str = "default") -> list[dict[str, Any]]:
        """Return the versions of an object, oldest first, with their writers: fields of ``Version``, and ``text``."""
        versions: list[dict[str, Any]] = self._process.call("history", {"reference": reference, "namespace": namespace})
        return versions

    def rights_used(self, user: str) -> list[dict[str, Any]]:
        """Return the minimal rules of a ClusterRole that allow all requests of a user so far."""
        rules: list[dict[str, Any]] = self._process.call("rights_used", {"user": user})
        return rules

    def assert_quiet(self, seconds: float) -> None:
        """Advance time. Raises AssertionError listing the writes meanwhile, except heartbeats."""
        self._process.call("assert_quiet", {"seconds": seconds}, timeout_seconds=seconds + CALL_SECONDS)

    def assert_no_hot_loop(self, **options: Any) -> None:
        """Raise AssertionError if a key was reconciled at least ``count`` times within ``seconds``."""
        self._process.call("assert_no_hot_loop", options)

    # Operators

    def run(self, operator: ModuleType | Path | str, *arguments: str, **options: Any) -> Operator:
        """Run an operator of kopf until ``stop``: a module, the path of a file, or the name of a module.

        ``arguments`` are further arguments of ``kopf run``; without a namespace among them it watches all. ``options`` are
        those of ``run_command``. Raises ``ClusterError`` for a file that does not exist.
        """
        check_file(operator, options.get("directory"))
        return self.run_command(kopf_command(operator, arguments), **options)

    def run_command(
        self, command: Sequence[str], *, environment: Mapping[str, str] | None = None, directory: Path | None = None
    ) -> Operator:
        """Run a program until ``stop``, with ``$KUBECONFIG`` set; its output is in the report of a failed test.

        ``environment`` is added to that of this process.
        """
        operator = Operator(command, environment={**self.environment(), **(environment or {})}, directory=directory)
        self.operators.append(operator)
        return operator

    def check_end(self) -> None:
        """Check for unreported failures at the end of a test.

        Raises ``OperatorError`` if an operator ended by itself with an exit code other than 0, ``LeftoverFaults`` if a
        fault was not hit, and ``ClusterError`` if the cluster has crashed, unless a call has raised that before.
        """
        for operator in self.operators:
            operator.check_running()
        if self.is_running and not self._process.has_reported_end:
            self.faults.check_leftover()

    @property
    def logs(self) -> str:
        """Log of the cluster so far; also available after its end."""
        return self._process.log


class AsyncMethods:
    """Methods of a cluster as coroutines, each in a thread: ``await cluster.aio.snapshot()``."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster: Final = cluster

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._cluster, name)
        if not callable(method):
            raise AttributeError(f"{name} is no method, use it without aio")  # noqa: TRY004 — as for a missing one

        async def call(*arguments: Any, **options: Any) -> Any:
            return await asyncio.to_thread(method, *arguments, **options)

        return call
