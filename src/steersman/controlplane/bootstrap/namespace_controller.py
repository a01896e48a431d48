"""System namespaces come back when somebody deletes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from steersman.controlplane.bootstrap.namespace_keeping import NAMESPACES, make_namespaces
from steersman.runtime.controller import Controller
from steersman.runtime.result import Result

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.runtime.context import ControllerContext

#: In case a watch missed something.
INTERVAL_SECONDS: Final = 60.0


class NamespaceController(Controller):
    """One key for all of them: they are few."""

    name: ClassVar[str] = "system-namespaces"

    def __init__(self, context: ControllerContext, names: Iterable[str]) -> None:
        super().__init__(context)
        self._names = tuple(names)
        self._namespaces = self.watch(
            NAMESPACES, keys=lambda one: ["all"] if one["metadata"]["name"] in self._names else []
        )

    async def start(self) -> None:
        """The first look."""
        self.queue.add("all")

    async def reconcile(self, key: str) -> Result | None:
        """By what the server says."""
        await make_namespaces(self.client, self._names)
        return Result(requeue_after_seconds=INTERVAL_SECONDS)
