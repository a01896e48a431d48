"""Calls for waits, faults and observations: methods of the embedded cluster."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.asynckit.clock import RealClock
from steersman.testing.clock import VirtualClock
from steersman.testing.fault_control import Partition
from steersman.testing.faults import FaultError
from steersman.testing.waiting import SettleError, WaitError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from steersman.testing.embedded import EmbeddedCluster
    from steersman.testing.faults import Fault
    from steersman.testing.host.cluster import HostedCluster

#: Real time for which a step of ``eventually`` waits for a change.
_STEP_SECONDS: Final = 0.25
_PAUSE_SECONDS: Final = 0.005
_SETTLE_SECONDS: Final = 5.0


class ObservingCalls:
    """Methods of one cluster by name."""

    def __init__(self, cluster: HostedCluster) -> None:
        self._cluster: Final = cluster
        self._faults: Final[list[Fault | Partition]] = []

    @property
    def _embedded(self) -> EmbeddedCluster:
        return self._cluster.embedded

    def methods(self) -> Mapping[str, Callable[..., Awaitable[Any]]]:
        """Return the methods for a ``CallServer``, by name."""
        return {
            "settle": self.settle,
            "wait_for": self.wait_for,
            "step": self.step,
            "assert_quiet": self.assert_quiet,
            "assert_no_hot_loop": self.assert_no_hot_loop,
            "requests": self.requests,
            "wait_for_request": self.wait_for_request,
            "history": self.history,
            "rights_used": self.rights_used,
            "faults.add": self.add_fault,
            "faults.partition": self.partition,
            "faults.describe": self.describe_fault,
            "faults.list": self.list_faults,
            "faults.remove": self.remove_fault,
            "faults.cut_watches": self.cut_watches,
            "faults.expire_watches": self.expire_watches,
            "faults.clear": self.clear_faults,
            "faults.check_leftover": self.check_leftover,
            "nodes.fail": self.fail_node,
            "nodes.recover": self.recover_node,
            "pods.fail": self.fail_pod,
            "pods.recover": self.recover_pod,
        }

    async def settle(self, **options: Any) -> None:
        """Wait until the cluster has settled."""
        await self._embedded.settle(**options)

    async def wait_for(self, **options: Any) -> dict[str, Any]:
        """Wait until an object has a condition."""
        return await self._embedded.wait_for(**options)

    async def step(self, seen: int, within_seconds: float) -> tuple[int, float, bool]:
        """Wait for the next change, or let virtual time pass to the next timer.

        Return the number of changes, the time of the cluster's clock, and False if no change or timer is left in that time.
        """
        embedded, real, goes_on = self._embedded, RealClock(), True
        if isinstance(embedded.clock, VirtualClock):
            with suppress(SettleError):  # clients in other processes run in real time; a step must leave them some
                await embedded.settle(_SETTLE_SECONDS)
            goes_on = await embedded.clock.advance_to_next_timer(within_seconds=within_seconds)
        else:
            end = real.monotonic() + min(_STEP_SECONDS, within_seconds)
            while embedded.observation.history.total == seen and real.monotonic() < end:
                await real.sleep(_PAUSE_SECONDS)
            goes_on = within_seconds > 0
        return embedded.observation.history.total, embedded.clock.monotonic(), goes_on

    async def assert_quiet(self, seconds: float) -> None:
        """Check that nothing is written while time advances."""
        await self._embedded.assert_quiet(seconds)

    async def assert_no_hot_loop(self, **options: Any) -> None:
        """Check that no key is reconciled in a hot loop."""
        self._embedded.assert_no_hot_loop(**options)

    async def requests(self, limit: int = 0, **patterns: Any) -> list[dict[str, Any]]:
        """Return the latest requests, each with its text."""
        records = self._embedded.requests(**patterns)
        return [_with_text(record) for record in records[-limit:]]

    async def wait_for_request(self, timeout: float, **patterns: Any) -> dict[str, Any]:  # noqa: ASYNC109 — real time
        """Wait for a request that matches; return the latest. Raises ``WaitError``."""
        real = RealClock()
        end = real.monotonic() + timeout
        while not (records := self._embedded.requests(**patterns)):
            if real.monotonic() >= end:
                text = ", ".join(f"{name}={value!r}" for name, value in patterns.items())
                raise WaitError(f"no request with {text} within {timeout:g} seconds")
            await real.sleep(_PAUSE_SECONDS)
        return _with_text(records[-1])

    async def history(self, **options: Any) -> list[dict[str, Any]]:
        """Return the versions of an object, each with its text."""
        return [_with_text(version) for version in self._embedded.history(**options)]

    async def rights_used(self, user: str) -> list[dict[str, Any]]:
        """Return the minimal rules that a user needs."""
        return self._embedded.rights_used(user)

    # Faults

    async def add_fault(self, **fields: Any) -> int:
        """Add a fault; return its number."""
        return self._number(self._embedded.faults.add(**fields))

    async def partition(self, component: str) -> int:
        """Disconnect a component; return the number of the fault."""
        return self._number(self._embedded.faults.partition(component))

    def _number(self, fault: Fault | Partition) -> int:
        self._faults.append(fault)
        return len(self._faults) - 1

    async def describe_fault(self, number: int) -> dict[str, Any]:
        """Return a fault's number, text and hits, and whether it can be applied again."""
        fault = self._fault(number)
        return {"number": number, "text": str(fault), "hits": fault.hits, "is_active": fault.is_active}

    async def list_faults(self) -> list[dict[str, Any]]:
        """Return all faults, including removed ones, as ``describe_fault``."""
        return [await self.describe_fault(number) for number in range(len(self._faults))]

    async def remove_fault(self, number: int) -> None:
        """Remove a fault."""
        fault = self._fault(number)
        if isinstance(fault, Partition):
            fault.heal()
        else:
            fault.remove()

    def _fault(self, number: int) -> Fault | Partition:
        if not 0 <= number < len(self._faults):
            raise FaultError(f"there is no fault {number}")
        return self._faults[number]

    async def cut_watches(self, **patterns: Any) -> int:
        """Break open watches."""
        return self._embedded.faults.cut_watches(**patterns)

    async def expire_watches(self, **patterns: Any) -> int:
        """End open watches with 410."""
        return await self._embedded.faults.expire_watches(**patterns)

    async def clear_faults(self) -> None:
        """Remove all faults."""
        self._embedded.faults.clear()

    async def check_leftover(self) -> None:
        """Check that all faults were hit."""
        self._embedded.faults.check_leftover()

    # Nodes and pods

    async def fail_node(self, name: str) -> None:
        """Stop a node."""
        await self._embedded.nodes.fail(name)

    async def recover_node(self, name: str) -> None:
        """Start a node again."""
        await self._embedded.nodes.recover(name)

    async def fail_pod(self, **options: Any) -> None:
        """Make a pod fail."""
        await self._embedded.pods.fail(**options)

    async def recover_pod(self, **options: Any) -> None:
        """Remove the failures of a pod."""
        await self._embedded.pods.recover(**options)


def _with_text(record: msgspec.Struct) -> dict[str, Any]:
    return {**msgspec.to_builtins(record), "text": str(record)}
