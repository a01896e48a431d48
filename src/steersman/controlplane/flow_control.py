"""API priority and fairness: configuration from stored objects, borrowing of seats, and conditions of schemas."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apiserver.filters.priority_and_fairness import PriorityAndFairness
from steersman.apiserver.filters.priority_and_fairness_metrics import FlowControlMetrics
from steersman.apiserver.flowcontrol.control import FlowControl
from steersman.apiserver.flowcontrol.dangling import plan_conditions
from steersman.apiserver.generic.writing import time_text
from steersman.apiserver.kinds.flowcontrol.shared.mandatory import FLOW_SCHEMAS, PRIORITY_LEVELS

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.generic.entry import Entry
    from steersman.apiserver.generic.registry import Registry
    from steersman.apiserver.request import RequestInfo
    from steersman.apiserver.server.loopback import Loopback
    from steersman.asynckit.clock import Clock
    from steersman.asynckit.tasks import Supervisor
    from steersman.controlplane.options import APIServerOptions


_GROUP: Final = "flowcontrol.apiserver.k8s.io"
_API: Final = f"/apis/{_GROUP}/v1/flowschemas"
_MANAGER: Final = "api-priority-and-fairness-config-consumer-v1"
_APPLY: Final = {"content-type": "application/apply-patch+yaml"}
#: Seconds between adjustments of borrowed seats. Upstream: ``borrowingAdjustmentPeriod``.
_LENDING_SECONDS: Final = 10.0
_RETRY_SECONDS: Final = 1.0
#: Number of conditions written concurrently.
_WRITES_MAX: Final = 16
#: Maximum share of a request's time spent in a queue, as upstream.
_WAITING_PART: Final = 4

_log = logging.getLogger(__name__)


def make_flow_control(options: APIServerOptions, registry: Registry, *, clock: Clock) -> PriorityLevels | None:
    """Return flow control; None if disabled or without a limit on requests in flight."""
    seats = options.max_requests_inflight + options.max_mutating_requests_inflight
    if not options.enable_priority_and_fairness or not seats:
        return None
    wait_max = options.request_timeout_seconds / _WAITING_PART
    return PriorityLevels(registry, seats=seats, wait_max_seconds=wait_max, clock=clock)


class _ObjectCache:
    """``Follower`` with the current objects of one resource."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed: Final = changed
        self.entries: Final[dict[str, Entry]] = {}

    def reset(self, entries: list[Entry]) -> None:
        self.entries.clear()
        self.entries.update((entry.key, entry) for entry in entries)
        self._changed()

    def put(self, entry: Entry) -> None:
        self.entries[entry.key] = entry
        self._changed()

    def remove(self, key: str) -> None:
        self.entries.pop(key, None)
        self._changed()

    def trees(self) -> list[Tree]:
        return [entry.tree() for entry in self.entries.values()]


class PriorityLevels:
    """Priority and fairness of one server, by the objects of a registry."""

    def __init__(self, registry: Registry, *, seats: int, wait_max_seconds: float, clock: Clock) -> None:
        self._registry: Final = registry
        self._clock: Final = clock
        self.control: Final = FlowControl(
            seats=seats, mandatory_schemas=_named(FLOW_SCHEMAS), mandatory_levels=_named(PRIORITY_LEVELS)
        )
        self.means: Final = PriorityAndFairness(
            self.control, stored=self._stored, wait_max_seconds=wait_max_seconds, clock=clock
        )
        self.metrics: Final = FlowControlMetrics(self.control)
        self._schemas: Final = _ObjectCache(self._changed)
        self._levels: Final = _ObjectCache(self._changed)
        #: Set when a change must be applied.
        self._pending = False
        #: Set when conditions may be outdated.
        self._outdated: Final = asyncio.Event()
        self.control.configure((), (), now=clock.monotonic())
        for name, objects in (("flowschemas", self._schemas), ("prioritylevelconfigurations", self._levels)):
            registry.stored(f"{name}.{_GROUP}").cache.follow(objects)

    def _changed(self) -> None:
        if not self._pending:  # changes arrive in batches: apply them together
            self._pending = True
            asyncio.get_running_loop().call_soon(self._configure)

    def _configure(self) -> None:
        self._pending = False
        self.control.configure(self._schemas.trees(), self._levels.trees(), now=self._clock.monotonic())
        self._outdated.set()

    def _stored(self, info: RequestInfo) -> int:
        served = self._registry.get(info.group, info.version, info.resource)
        return 0 if served is None else len(served.cache)

    async def start(self, client: Loopback, tasks: Supervisor) -> None:
        """Apply the stored objects, update the schemas' conditions, and continue in tasks.

        Raises RuntimeError if a write is refused.
        """
        self._configure()
        self._outdated.clear()
        await self._apply_conditions(client)
        tasks.start("lending of seats", self._keep_lending())
        tasks.start("conditions of flow schemas", self._keep_conditions(client))

    async def _keep_lending(self) -> None:
        """Adjust borrowed seats periodically, until cancelled."""
        while True:
            await self._clock.sleep(_LENDING_SECONDS)
            self.control.adjust(self._clock.monotonic())

    async def _keep_conditions(self, client: Loopback) -> None:
        """Maintain the condition ``Dangling`` of flow schemas, until cancelled."""
        while True:
            await self._outdated.wait()
            self._outdated.clear()
            try:
                await self._apply_conditions(client)
            except RuntimeError as error:
                _log.warning("%s; trying again", error)
                await self._clock.sleep(_RETRY_SECONDS)
                self._outdated.set()

    async def _apply_conditions(self, client: Loopback) -> None:
        levels = {entry.name for entry in self._levels.entries.values()}
        plan = plan_conditions(self._schemas.trees(), levels, now_text=time_text(self._clock.now()))
        turns = asyncio.Semaphore(_WRITES_MAX)

        async def apply(tree: Tree) -> None:
            async with turns:
                await _apply(client, tree)

        for outcome in await asyncio.gather(*map(apply, plan), return_exceptions=True):
            if outcome is not None:
                raise outcome


async def _apply(client: Loopback, tree: Tree) -> None:
    path = f"{_API}/{tree['metadata']['name']}/status?fieldManager={_MANAGER}&force=true"
    answer = await client.request("PATCH", path, body=msgspec.json.encode(tree), headers=_APPLY)
    if answer.code not in (200, 404):  # a deleted schema needs no condition
        raise RuntimeError(f"cannot write {path}: {answer.body.decode(errors='replace')}")


def _named(specs: dict[str, Tree]) -> list[Tree]:
    return [{"metadata": {"name": name}, "spec": spec} for name, spec in specs.items()]
