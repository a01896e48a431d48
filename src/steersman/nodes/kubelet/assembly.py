"""The kubelet of the simulated nodes, put together from options: what listens, and who answers for which pods."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from steersman.nodes.kubelet.simulated import SimulatedHost
from steersman.nodes.node_object import KubeletAddress, is_kept
from steersman.nodes.pod_status import is_finished
from steersman.nodes.pods import NODES, PODS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from random import Random

    from steersman.asynckit.clock import Clock
    from steersman.nodes.kubelet.hosting import Host
    from steersman.nodes.kubelet.server import KubeletServer
    from steersman.nodes.options import NodesOptions
    from steersman.nodes.pod_addresses import PodAddresses
    from steersman.runtime.context import ControllerContext
    from steersman.runtime.manager import Manager

    Tree = dict[str, Any]


class Kubelet(NamedTuple):
    """What the other parts of the nodes have to know of it."""

    #: Where API servers find it; None: it does not listen.
    address: KubeletAddress | None = None
    #: Whether a pod, on its node, is no simulated one; None: all are.
    is_others: Callable[[Tree, Tree], bool] | None = None


class _Known:
    """Pods and nodes, as the shared informers have them."""

    def __init__(self, context: ControllerContext) -> None:
        self._pods = context.informers.informer(PODS)
        self._nodes = context.informers.informer(NODES)

    def node_of(self, pod: Tree) -> Tree | None:
        """None where it has none, or not one of ours."""
        name = (pod.get("spec") or {}).get("nodeName")
        node = self._nodes.lister.get(name) if name else None
        return node if node is not None and is_kept(node) else None

    def node(self, name: str) -> Tree | None:
        """A node of ours."""
        found = self._nodes.lister.get(name)
        return found if found is not None and is_kept(found) else None

    def find(self, namespace: str, name: str) -> Tree | None:
        """A pod of ours."""
        pod = self._pods.lister.get(name, namespace=namespace)
        return pod if pod is not None and self.node_of(pod) is not None else None

    def at(self, address: str) -> Tree | None:
        """The first pod of ours that lives at an address. An index of them is made when it is asked for at all."""
        self._pods.add_index("address", _addresses)
        found = self._pods.lister.by_index("address", address)
        return next((pod for pod in found if not is_finished(pod) and self.node_of(pod) is not None), None)

    def newest(self, pod: Tree) -> Tree | None:
        """What became of a pod; None when it is gone."""
        metadata = pod["metadata"]
        found = self.find(metadata.get("namespace", ""), metadata["name"])
        return found if found is not None and found["metadata"].get("uid") == metadata.get("uid") else None

    def all(self) -> Iterable[Tree]:
        """All pods of ours."""
        return [pod for pod in self._pods.lister if self.node_of(pod) is not None]


def _addresses(pod: Tree) -> list[str]:
    return [each["ip"] for each in (pod.get("status") or {}).get("podIPs") or () if each.get("ip")]


class OnDemand:
    """A server that is made when the first connection comes to its socket: most clusters are never asked for a log.

    What it needs takes longer to load than a node to come up.
    """

    name: ClassVar[str] = "kubelet-api"

    def __init__(self, sock: socket.socket, make: Callable[[], KubeletServer]) -> None:
        self._sock = sock
        self._make = make
        self._wanted = asyncio.Event()
        self._stopped = asyncio.Event()
        self._server: KubeletServer | None = None

    @property
    def is_ready(self) -> bool:
        """Connections are taken from the beginning."""
        return True

    def stop(self) -> None:
        """End ``run``."""
        self._stopped.set()
        self._wanted.set()
        if self._server is not None:
            self._server.stop()

    async def run(self) -> None:
        """Until ``stop``."""
        loop = asyncio.get_running_loop()
        loop.add_reader(self._sock, self._wanted.set)
        try:
            await self._wanted.wait()
        finally:
            loop.remove_reader(self._sock)
        if not self._stopped.is_set():
            self._server = await asyncio.to_thread(self._make)
        if self._server is None or self._stopped.is_set():
            self._sock.close()
        else:
            await self._server.run()


def _make_server(
    sock: socket.socket, options: NodesOptions, known: _Known, hosts: Sequence[Host], *, clock: Clock, dice: Random
) -> KubeletServer:
    from steersman.nodes.kubelet.server import KubeletServer, Pods, kubelet_tls  # noqa: PLC0415 — loads an HTTP server

    assert options.kubelet_certificate_file is not None
    assert options.kubelet_key_file is not None
    assert options.kubelet_client_ca_file is not None
    tls = kubelet_tls(
        certificate=options.kubelet_certificate_file,
        key=options.kubelet_key_file,
        client_ca=options.kubelet_client_ca_file,
    )
    pods = Pods(known.find, known.at, known.all)
    page = metrics_page(options, known.node, known.all, clock=clock, dice=dice)
    return KubeletServer(sock, tls, pods=pods, hosts=hosts, clock=clock, metrics_page=page)


def metrics_page(
    options: NodesOptions,
    node: Callable[[str], Tree | None],
    pods: Callable[[], Iterable[Tree]],
    *,
    clock: Clock,
    dice: Random,
) -> Callable[[str], str | None]:
    """Return a function from a path to the text of the page that a ``Metric`` of KWOK describes."""
    documents = options.usage_documents()
    if not documents:
        return lambda _path: None
    from steersman.nodes.kwok.usage_pages import read_usage  # noqa: PLC0415 — loads CEL

    pages = read_usage(documents, dice=dice).pages

    def page(path: str) -> str | None:
        name = pages.node_of(path)
        found = node(name) if name is not None else None
        if found is None:
            return None
        on_node = [pod for pod in pods() if pod["spec"].get("nodeName") == name and not is_finished(pod)]
        return pages.render(path, found, on_node, now=clock.now())

    return page


def add_kubelet(
    manager: Manager, context: ControllerContext, options: NodesOptions, *, addresses: PodAddresses
) -> Kubelet:
    """Listen, if there is all that it takes, and run what answers; ``addresses`` are those of all pods. Raises ``OSError``."""
    known = _Known(context)
    hosts: list[Host] = []
    is_others = None
    if options.process_pods:
        from steersman.nodes.processes.keeper import ProcessPodKeeper  # noqa: PLC0415 — off unless asked for

        keeper = ProcessPodKeeper(
            context, addresses=addresses, kubeconfig=options.kubeconfig, directory=options.process_dir
        )
        manager.add(keeper)
        hosts.append(keeper.host)
        is_others = keeper.concerns
    if not options.serves_kubelet:
        return Kubelet(None, is_others)
    hosts.append(SimulatedHost(known.newest, known.node_of, clock=context.clock))
    sock = socket.create_server((options.kubelet_address, options.kubelet_port))
    sock.setblocking(False)
    manager.add(
        OnDemand(sock, lambda: _make_server(sock, options, known, hosts, clock=context.clock, dice=context.dice))
    )
    return Kubelet(KubeletAddress(options.kubelet_address, sock.getsockname()[1]), is_others)
