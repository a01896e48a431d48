"""Cache of token reviews."""

import asyncio

import pytest

from steersman.apiserver.authn.interface import InvalidCredentials, Reviewed
from steersman.apiserver.authn.token_cache import CachedTokens, TokenCacheMetrics
from steersman.apiserver.request import UserInfo
from steersman.asynckit.clock import FakeClock
from steersman.asynckit.tasks import Supervisor

ALICE = UserInfo("alice")


class World:
    """A reviewer that accepts tokens that begin with ``good``; ``gate`` delays its answers."""

    def __init__(self, ttl_seconds=120.0, **bounds):
        self.clock, self.tasks, self.metrics = FakeClock(), Supervisor("test"), TokenCacheMetrics()
        self.reviews, self.error, self.gate = [], "", asyncio.Event()
        self.gate.set()
        self.tokens = CachedTokens(
            self,
            audiences=("api",),
            ttl_seconds=ttl_seconds,
            clock=self.clock,
            tasks=self.tasks,
            metrics=self.metrics,
            **bounds,
        )

    async def review(self, token, audiences):
        self.reviews.append((token, tuple(audiences)))
        await self.gate.wait()
        if self.error:
            raise InvalidCredentials(self.error)
        return Reviewed(ALICE, tuple(audiences)) if token.startswith("good") else None

    async def user(self, token):
        return await self.tokens.authenticate_token(token)


async def test_accepted_and_rejected_tokens_are_cached_until_they_expire():
    world = World()
    for _ in range(2):
        assert await world.user("good") is ALICE
        assert await world.user("bad") is None
    assert world.reviews == [("good", ("api",)), ("bad", ("api",))]
    await world.clock.advance(119.9)
    await world.user("good")
    assert len(world.reviews) == 2
    await world.clock.advance(0.1)
    await world.user("good")
    await world.user("bad")
    assert len(world.reviews) == 4


async def test_reviews_are_cached_for_their_audiences():
    world = World()
    assert (await world.tokens.review("good", ("x",))).audiences == ("x",)
    assert (await world.tokens.review("good", ("x", "y"))).audiences == ("x", "y")
    assert (await world.tokens.review("good", ("xy",))).audiences == ("xy",)
    assert (await world.tokens.review("goodx", ("y",))).audiences == ("y",)
    assert len(world.reviews) == 4


async def test_errors_are_not_cached():
    world = World()
    world.error = "unreachable"
    for _ in range(2):
        with pytest.raises(InvalidCredentials, match="unreachable"):
            await world.user("good")
    world.error = ""
    assert await world.user("good") is ALICE
    assert world.metrics.fetches == {("error",): 2, ("ok",): 1}


async def test_concurrent_requests_share_a_review():
    world = World(ttl_seconds=0)
    world.gate.clear()
    async with asyncio.TaskGroup() as group:
        users = [group.create_task(world.user("good")) for _ in range(3)]
        await world.clock.advance(0)
        assert (world.metrics.in_flight, world.metrics.blocked) == (1, 3)
        world.gate.set()
    assert [user.result() for user in users] == [ALICE] * 3
    assert len(world.reviews) == 1
    assert (world.metrics.in_flight, world.metrics.blocked) == (0, 0)
    await world.user("good")
    assert len(world.reviews) == 2


async def test_cancelled_request_does_not_end_the_review_of_others():
    world = World()
    world.gate.clear()
    first, second = (asyncio.create_task(world.user("good")) for _ in range(2))
    await world.clock.advance(0)
    first.cancel()
    await world.clock.advance(0)
    world.gate.set()
    assert await second is ALICE
    assert first.cancelled()


async def test_slow_review_rejects_the_token():
    world = World()
    world.gate.clear()
    request = asyncio.create_task(world.user("good"))
    await world.clock.advance(30)
    with pytest.raises(InvalidCredentials, match="context deadline exceeded"):
        await request


async def test_rejected_tokens_do_not_evict_accepted_ones():
    world = World(entries_max=2)
    for token in ("good1", "bad1", "bad2", "bad3", "good1", "bad1", "bad3"):
        await world.user(token)
    assert [token for token, _ in world.reviews] == ["good1", "bad1", "bad2", "bad3", "bad1"]


async def test_oldest_accepted_token_is_evicted():
    world = World(entries_max=2)
    for token in ("good1", "good2", "good3", "good3", "good2", "good1"):
        await world.user(token)
    assert [token for token, _ in world.reviews] == ["good1", "good2", "good3", "good1"]


async def test_metrics_count_hits_and_misses():
    world = World()
    for _ in range(3):
        await world.user("good")
    assert {status: durations.count for (status,), durations in world.metrics.requests.items()} == {"miss": 1, "hit": 2}


async def test_close_ends_running_reviews():
    world = World()
    world.gate.clear()
    request = asyncio.create_task(world.user("good"))
    await world.clock.advance(0)
    await world.tasks.close()
    with pytest.raises(asyncio.CancelledError):
        await request
