from __future__ import annotations

import asyncio

from steersman.asynckit.clock import FakeClock
from steersman.storage.leases import LeaseTable
from steersman.storage.sqlite.index import Entry, Write, roll_back


async def test_roll_back_restores_entries_and_leases():
    old = Entry("/a", 1, 1, 7)
    index = {"/a": Entry("/a", 3, 1, 0), "/b": Entry("/b", 3, 3, 7)}
    leases = LeaseTable(FakeClock(), on_expired=print)
    lease = leases.add(7, ttl_seconds=5, remaining_seconds=5)
    lease.keys.add("/b")
    write = Write(asyncio.get_running_loop().create_future(), revision=3)
    write.undo += [("/a", old), ("/b", None), ("/c", Entry("/c", 2, 2, 7))]
    roll_back(index, write, leases=leases)
    assert index == {"/a": old, "/c": Entry("/c", 2, 2, 7)}
    assert lease.keys == {"/a", "/c"}
    leases.close()
