"""Allocated node ports, for the repair loop that compares them with Services. Upstream: ``rangeallocation``.

The stored value has no API resource; this module is the API server's internal access to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from steersman.apiserver.kinds.core.service.allocation import NODE_PORTS_KEY
from steersman.apiserver.kinds.shared.allocation import PortBitmap, PortRange
from steersman.storage.store import Put

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.storage.store import Store


class TakenPorts(msgspec.Struct, frozen=True):
    """Snapshot of allocated ports; the base of a change."""

    ports: frozenset[int]
    #: Revision of the value; 0 if absent.
    revision: int


class NodePortRegistry:
    """Reads and changes the stored allocation. Methods raise ``StoreError``."""

    def __init__(self, store: Store, ports: PortRange) -> None:
        self._store = store
        self.ports = ports

    async def read(self) -> TakenPorts:
        """Return all allocated ports."""
        kv = await self._store.get(NODE_PORTS_KEY)
        bitmap = PortBitmap.decode(self.ports, kv.value if kv else None)
        numbers = range(self.ports.first, self.ports.last + 1)
        return TakenPorts(frozenset(port for port in numbers if port in bitmap), kv.mod_revision if kv else 0)

    async def change(self, seen: TakenPorts, *, take: Iterable[int], release: Iterable[int]) -> None:
        """Allocate and release ports. Raises ``Conflict`` if the value has changed since ``seen``."""
        bitmap = PortBitmap(self.ports)
        for port in (seen.ports | frozenset(take)) - frozenset(release):
            bitmap.take(port)
        await self._store.txn([Put(NODE_PORTS_KEY, bitmap.encode(), expected=seen.revision)])
