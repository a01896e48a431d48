"""Access of out-of-tree plugins to the scheduler; implements ``interface.Handle``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from steersman.asynckit.clock import Clock
    from steersman.client import Client
    from steersman.client.informer_factory import InformerFactory
    from steersman.scheduler.core import SchedulerCore
    from steersman.scheduler.node_info import NodeInfo
    from steersman.scheduler.out_of_tree.waiting import PermitWait


class SchedulerHandle:
    """Handle of all plugins of one scheduler."""

    def __init__(
        self, core: SchedulerCore, client: Client, informers: InformerFactory, *, wake: Callable[[], None]
    ) -> None:
        self.client: Final = client
        self.informers: Final = informers
        self.clock: Final[Clock] = client.clock
        self._core = core
        self._wake = wake

    def nodes(self) -> Sequence[NodeInfo]:
        return self._core.cluster.nodes

    def node(self, name: str) -> NodeInfo | None:
        return self._core.cluster.get(name)

    def waiting_pods(self) -> Sequence[PermitWait]:
        return list(self._core.waiting_pods.values())

    def waiting_pod(self, uid: str) -> PermitWait | None:
        return self._core.waiting_pods.get(uid)

    def activate(self, uids: Iterable[str]) -> None:
        self._core.activate(uids)
        self._wake()
