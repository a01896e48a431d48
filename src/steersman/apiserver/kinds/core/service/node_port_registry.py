"""Allocated node ports, for the repair loop that compares them with Services. Upstream: ``rangeallocation``.

The stored value has no API resource; this module is the API server's internal access to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from steersman.apiserver.generic.storage_codec import JSON
from steersman.apiserver.kinds.core.service.allocation import NODE_PORTS_KEY, read_node_ports
from steersman.apiserver.kinds.shared.allocation import PortBitmap, PortRange
from steersman.storage.store import Put

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.storage.store import Store


class AllocatedPorts(msgspec.Struct, frozen=True):
    """Snapshot of allocated ports; the base of a change."""

    ports: frozenset[int]
    #: Revision of the value; 0 if absent.
    revision: int


class NodePortRegistry:
    """Reads and changes the stored allocation. Methods raise ``StoreError``."""

    def __init__(self, store: Store, ports: PortRange, *, media_type: str = JSON) -> None:
        self._store = store
        self._media_type = media_type
        self.ports = ports

    async def read(self) -> AllocatedPorts:
        """Return all allocated ports."""
        kv = await self._store.get(NODE_PORTS_KEY)
        return AllocatedPorts(frozenset(read_node_ports(self.ports, kv)), kv.mod_revision if kv else 0)

    async def change(self, seen: AllocatedPorts, *, take: Iterable[int], release: Iterable[int]) -> None:
        """Allocate and release ports. Raises ``Conflict`` if the value has changed since ``seen``."""
        bitmap = PortBitmap(self.ports)
        for port in (seen.ports | frozenset(take)) - frozenset(release):
            bitmap.allocate(port)
        await self._store.txn([Put(NODE_PORTS_KEY, bitmap.encode(self._media_type), expected=seen.revision)])
