"""State of a store at one revision, for snapshots. Not compiled: the struct can be decoded."""

from __future__ import annotations

import msgspec

from steersman.storage.store import KeyValue  # noqa: TC001 — read by msgspec at run time


class StoreDump(msgspec.Struct, frozen=True):
    """State of a store at one revision, without history; can be encoded, e.g. by ``msgspec.msgpack``."""

    revision: int
    rows: list[KeyValue]
    #: Id, TTL in seconds and remaining seconds of each lease.
    leases: list[tuple[int, int, float]]
