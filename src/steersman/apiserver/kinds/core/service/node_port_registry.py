"""Which node ports are taken, for those who check it against the Services (upstream's ``rangeallocation``).

The value has no resource: this is the server's own interface to it.
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


class TakenPorts(msgspec.Struct, frozen=True):
    """What was read; a change is based on it."""

    ports: frozenset[int]
    #: Of the value; 0: there is none yet.
    revision: int


class NodePortRegistry:
    """Reads and changes the allocator's value. Methods raise ``StoreError``."""

    def __init__(self, store: Store, ports: PortRange, *, media_type: str = JSON) -> None:
        self._store = store
        self._media_type = media_type
        self.ports = ports

    async def read(self) -> TakenPorts:
        """All ports that are taken."""
        kv = await self._store.get(NODE_PORTS_KEY)
        bitmap = read_node_ports(self.ports, kv)
        numbers = range(self.ports.first, self.ports.last + 1)
        return TakenPorts(frozenset(port for port in numbers if port in bitmap), kv.mod_revision if kv else 0)

    async def change(self, seen: TakenPorts, *, take: Iterable[int], release: Iterable[int]) -> None:
        """Mark ports as taken and as free. Raises ``Conflict`` when somebody changed the value since it was read."""
        bitmap = PortBitmap(self.ports)
        for port in (seen.ports | frozenset(take)) - frozenset(release):
            bitmap.take(port)
        await self._store.txn([Put(NODE_PORTS_KEY, bitmap.encode(self._media_type), expected=seen.revision)])
