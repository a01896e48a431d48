"""Assembly of the simulated nodes' kubelet from options: the listener and the hosts of pods."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from steersman.nodes.bound_pods import NODES, PODS
from steersman.nodes.kubelet.pages import component_pages
from steersman.nodes.kubelet.simulated import SimulatedHost
from steersman.nodes.node_object import KubeletAddress, is_simulated
from steersman.nodes.pod_status import is_finished
from steersman.runtime.http import ListenError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from random import Random

    from steersman.apimachinery.trees import Tree
    from steersman.apimachinery.zpages import PageContent
    from steersman.asynckit.clock import Clock
    from steersman.nodes.kubelet.host import Host
    from steersman.nodes.kubelet.server import KubeletServer
    from steersman.nodes.options import NodesOptions
    from steersman.nodes.pod_addresses import PodAddresses
    from steersman.nodes.pod_admission import PodAdmission
    from steersman.runtime.context import ControllerContext
    from steersman.runtime.manager import Manager


class Kubelet(NamedTuple):
    """Interface of the kubelet for other components of the nodes."""

    #: Address for API servers; None if it does not listen.
    address: KubeletAddress | None = None
    #: Report whether another controller manages a pod on its node; None if all pods are simulated.
    is_managed_elsewhere: Callable[[Tree, Tree], bool] | None = None
    #: Server of the kubelet; None if it does not listen.
    server: LazyKubeletServer | None = None


class _InformerLookup:
    """Pods and nodes of the shared informers."""

    def __init__(self, context: ControllerContext) -> None:
        self._pods = context.informers.informer(PODS)
        self._nodes = context.informers.informer(NODES)

    def node_of(self, pod: Tree) -> Tree | None:
        """Return the pod's node; None unless it is simulated."""
        name = (pod.get("spec") or {}).get("nodeName")
        node = self._nodes.lister.get(name) if name else None
        return node if node is not None and is_simulated(node) else None

    def node(self, name: str) -> Tree | None:
        """Return a simulated node."""
        node_object = self._nodes.lister.get(name)
        return node_object if node_object is not None and is_simulated(node_object) else None

    def nodes(self) -> Iterable[Tree]:
        """Return all simulated nodes."""
        return [node for node in self._nodes.lister if is_simulated(node)]

    def find(self, namespace: str, name: str) -> Tree | None:
        """Return a pod on a simulated node."""
        pod = self._pods.lister.get(name, namespace=namespace)
        return pod if pod is not None and self.node_of(pod) is not None else None

    def at(self, address: str) -> Tree | None:
        """Return the first unfinished pod with an address. The index is built on the first call."""
        self._pods.add_index("address", _addresses)
        matching_pods = self._pods.lister.by_index("address", address)
        return next((pod for pod in matching_pods if not is_finished(pod) and self.node_of(pod) is not None), None)

    def newest(self, pod: Tree) -> Tree | None:
        """Return the current version of a pod; None if it was deleted."""
        metadata = pod["metadata"]
        latest = self.find(metadata.get("namespace", ""), metadata["name"])
        return latest if latest is not None and latest["metadata"].get("uid") == metadata.get("uid") else None

    def all(self) -> Iterable[Tree]:
        """Return all pods on simulated nodes."""
        return [pod for pod in self._pods.lister if self.node_of(pod) is not None]


def _addresses(pod: Tree) -> list[str]:
    return [pod_ip["ip"] for pod_ip in (pod.get("status") or {}).get("podIPs") or () if pod_ip.get("ip")]


class LazyKubeletServer:
    """Kubelet server that is created on the first connection to its socket, because its imports delay the start of
    nodes.
    """

    name: ClassVar[str] = "kubelet-api"

    def __init__(self, sock: socket.socket, make: Callable[[socket.socket], KubeletServer]) -> None:
        self._sock = sock
        self._make = make
        self._requested = asyncio.Event()
        self._stopped = asyncio.Event()
        self._server: KubeletServer | None = None

    @property
    def is_ready(self) -> bool:
        """True: the socket accepts connections from the start."""
        return True

    @property
    def port(self) -> int:
        """Listening port."""
        port: int = self._sock.getsockname()[1]
        return port

    def listen_elsewhere(self) -> None:
        """Listen on another free port, e.g. in a forked process. Raises ``RuntimeError`` after the first connection."""
        if self._requested.is_set():
            raise RuntimeError("the kubelet serves connections already")
        loop = asyncio.get_running_loop()
        is_running, host = loop.remove_reader(self._sock), self._sock.getsockname()[0]
        self._sock.close()
        self._sock = _listen(host, 0)
        if is_running:
            loop.add_reader(self._sock, self._requested.set)

    def stop(self) -> None:
        """End ``run``."""
        self._stopped.set()
        self._requested.set()
        if self._server is not None:
            self._server.stop()

    async def run(self) -> None:
        """Run until ``stop``."""
        loop = asyncio.get_running_loop()
        loop.add_reader(self._sock, self._requested.set)
        try:
            await self._requested.wait()
        finally:
            loop.remove_reader(self._sock)
        if not self._stopped.is_set():
            self._server = await asyncio.to_thread(self._make, self._sock)
        if self._server is None or self._stopped.is_set():
            self._sock.close()
        else:
            await self._server.run()


def _make_server(
    sock: socket.socket,
    options: NodesOptions,
    lookup: _InformerLookup,
    hosts: Sequence[Host],
    *,
    component_page: Callable[[str], PageContent | None],
    clock: Clock,
    dice: Random,
) -> KubeletServer:
    from steersman.nodes.kubelet.node_pages import NodePages  # noqa: PLC0415 — with the first request, as the next
    from steersman.nodes.kubelet.server import KubeletServer, Pods, kubelet_tls  # noqa: PLC0415 — loads an HTTP server
    from steersman.nodes.metrics.usage import usage_of_documents  # noqa: PLC0415 — as above

    assert options.kubelet_certificate_file is not None
    assert options.kubelet_key_file is not None
    assert options.kubelet_client_ca_file is not None
    tls = kubelet_tls(
        certificate=options.kubelet_certificate_file,
        key=options.kubelet_key_file,
        client_ca=options.kubelet_client_ca_file,
    )
    pods = Pods(lookup.find, lookup.at, lookup.all)
    usage = usage_of_documents(options.usage_documents(), dice=dice)
    return KubeletServer(
        sock,
        tls,
        pods=pods,
        hosts=hosts,
        clock=clock,
        metrics_page=metrics_page(options, lookup.node, lookup.all, clock=clock, dice=dice),
        component_page=component_page,
        node_page=NodePages(usage, lookup.nodes, lookup.all, clock=clock).page,
    )


def metrics_page(
    options: NodesOptions,
    node: Callable[[str], Tree | None],
    pods: Callable[[], Iterable[Tree]],
    *,
    clock: Clock,
    dice: Random,
) -> Callable[[str], str | None]:
    """Return a function from a path to the text of the page that a ``Metric`` of KWOK defines."""
    documents = options.usage_documents()
    if not documents:
        return lambda _path: None
    from steersman.nodes.kwok.usage_pages import read_usage  # noqa: PLC0415 — loads CEL

    pages = read_usage(documents, dice=dice).pages

    def page(path: str) -> str | None:
        name = pages.node_of(path)
        node_object = node(name) if name is not None else None
        if node_object is None:
            return None
        on_node = [pod for pod in pods() if pod["spec"].get("nodeName") == name and not is_finished(pod)]
        return pages.render(path, node_object, on_node, now=clock.now())

    return page


def add_kubelet(
    manager: Manager,
    context: ControllerContext,
    options: NodesOptions,
    *,
    addresses: PodAddresses,
    admission: PodAdmission,
) -> Kubelet:
    """Listen if certificates are configured, and add the controllers; ``addresses`` and ``admission`` are shared by all
    pods. Raises ``ListenError``.
    """
    lookup = _InformerLookup(context)
    hosts: list[Host] = []
    is_managed_elsewhere = None
    if options.process_pods:
        from steersman.nodes.processes.controller import ProcessPodController  # noqa: PLC0415 — off unless asked for

        controller = ProcessPodController(
            context,
            addresses=addresses,
            admission=admission,
            kubeconfig=options.kubeconfig,
            directory=options.process_dir,
            isolation=options.process_isolation,
            images=options.local_images(),
        )
        manager.add(controller)
        hosts.append(controller.host)
        is_managed_elsewhere = controller.concerns
    if not options.serves_kubelet:
        return Kubelet(None, is_managed_elsewhere)
    hosts.append(SimulatedHost(lookup.newest, lookup.node_of, clock=context.clock))
    clock, dice = context.clock, context.dice
    component_page = component_pages(options, clock=clock)

    def make(sock: socket.socket) -> KubeletServer:
        return _make_server(sock, options, lookup, hosts, component_page=component_page, clock=clock, dice=dice)

    server = manager.add(LazyKubeletServer(_listen(options.kubelet_address, options.kubelet_port), make))
    return Kubelet(KubeletAddress(options.kubelet_address, server.port), is_managed_elsewhere, server)


def _listen(address: str, port: int) -> socket.socket:
    try:
        sock = socket.create_server((address, port))
    except OSError as error:
        raise ListenError.of(f"{address} port {port}", error) from error
    sock.setblocking(False)
    return sock
