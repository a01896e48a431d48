"""Five contenders under partitions, pauses, crashes and clocks that differ: never two leaders, and soon one again."""

import pytest
from tests.model.leaderelection.world import World

#: Simulated seconds of a run; each round has faults, then a calm in which hand-overs are measured.
SECONDS = 4000
ROUND_FAULTS = 20


@pytest.fixture
async def run():
    """A world after ``seconds`` of faults, and how long its hand-overs took."""
    worlds = []

    async def after(seed, seconds):
        world = World(seed)
        worlds.append(world)
        for contender in world.contenders:
            contender.start()
        releases, crashes = [], []
        while world.true.monotonic() < seconds:
            for _ in range(ROUND_FAULTS):
                await world.strike()
                await world.pass_time(world.dice.expovariate(1 / 15))
            await calm(world)
            leader = world.leaders[0]
            await leader.leave()
            releases.append(await world.until_led(60))
            await calm(world)
            world.leaders[0].crash()
            crashes.append(await world.until_led(60))
        return world, releases, crashes

    yield after
    for world in worlds:
        await world.close()


async def calm(world):
    """Heal all faults, and wait until the elections rest."""
    world.heal()
    await world.pass_time(60)


@pytest.mark.parametrize(("seed", "seconds"), [(1, SECONDS), (2, SECONDS // 2), (3, SECONDS // 2)])
async def test_electors_have_one_leader_and_hand_over_in_time(run, seed, seconds):
    world, releases, crashes = await run(seed, seconds)
    assert world.violations == []
    assert set(world.faults) == {"cut", "hang", "pause", "crash", "leave", "wall", "heal", "outage"}
    assert len(world.terms) > seconds / 200
    assert max(releases) < 1
    assert max(crashes) <= world.timing.lease_duration_seconds + world.timing.retry_period_seconds
