from __future__ import annotations

import asyncio
import sys

import pytest

from steersman.storage.sqlite.handover import INTERVAL_SECONDS, Handover
from steersman.storage.store import Put


@pytest.fixture
def before():
    return sys.getswitchinterval()


def test_switch_interval_is_short_while_threads_work(before):
    handover = Handover()
    handover.begin()
    handover.begin()
    handover.end()
    assert sys.getswitchinterval() == pytest.approx(INTERVAL_SECONDS)
    handover.end()
    assert sys.getswitchinterval() == pytest.approx(before)


async def test_store_restores_the_switch_interval(open_store, before):
    store = await open_store()
    await store.txn([Put("/a/1", b"1")])
    reads = [asyncio.ensure_future(store.range("/a/")) for _ in range(5)]
    await asyncio.wait(reads, timeout=0)
    assert sys.getswitchinterval() == pytest.approx(INTERVAL_SECONDS)
    await asyncio.gather(*reads)
    assert sys.getswitchinterval() == pytest.approx(before)
