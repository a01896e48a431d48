from __future__ import annotations

import asyncio

import pytest
from tests.busy_machine import HANG_SECONDS

from steersman.apiserver.generic.key_locks import KeyLocks


async def test_writers_of_one_key_are_serialized_in_order():
    locks, log = KeyLocks(), []

    async def write(number: int) -> None:
        async with locks.hold("k"):
            log.append(number)
            await asyncio.sleep(0)  # noqa: TID251
            log.append(number)

    await asyncio.gather(*(write(number) for number in range(3)))
    assert log == [0, 0, 1, 1, 2, 2]


async def test_writers_of_different_keys_do_not_wait():
    locks = KeyLocks()
    async with locks.hold("a"), asyncio.timeout(HANG_SECONDS), locks.hold("b"):
        assert len(locks) == 2


async def test_no_state_remains_after_the_last_writer():
    locks = KeyLocks()

    async def fail() -> None:
        async with locks.hold("k"):
            await asyncio.sleep(0)  # noqa: TID251
            raise ValueError

    waiting = [asyncio.ensure_future(fail()) for _ in range(3)]
    await asyncio.sleep(0)  # noqa: TID251
    waiting[1].cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert len(locks) == 0
    with pytest.raises(ValueError):
        await waiting[0]
    assert waiting[1].cancelled()
