"""Reload of configuration files."""

import asyncio

import pytest

from steersman.apimachinery.label_sets import hash_label
from steersman.asynckit.clock import FakeClock
from steersman.asynckit.tasks import Supervisor
from steersman.controlplane.config_reload import ConfigReload, InvalidConfigError
from steersman.controlplane.file_follower import RELOAD_SECONDS


class World:
    def __init__(self, path):
        self.path, self.clock, self.applied, self.failure = path, FakeClock(), [], None
        path.write_bytes(b"first")
        self.reload = ConfigReload(path, b"first", self.apply, metric_prefix="p", clock=self.clock)
        self.changed = asyncio.Event()

    async def apply(self, data):
        self.changed.set()
        self.applied.append(data)
        if self.failure is not None:
            raise self.failure

    async def write_and_poll(self, data):
        self.path.write_bytes(data)
        await self.reload.poll()

    async def samples(self):
        return {
            (family.name.removeprefix("p_"), dict(labels).get("status") or dict(labels)["hash"]): value
            for family in await self.reload.collect()
            for _, labels, value in family.samples
        }


@pytest.fixture
def world(tmp_path):
    return World(tmp_path / "config.yaml")


async def test_poll_applies_changed_contents_once(world):
    await world.reload.poll()
    assert world.applied == []
    await world.write_and_poll(b"second")
    await world.reload.poll()
    assert world.applied == [b"second"]
    assert await world.samples() == {
        ("automatic_reloads_total", "success"): 1,
        ("automatic_reload_last_timestamp_seconds", "success"): world.clock.now().timestamp(),
        ("last_config_info", hash_label(b"second")): 1,
    }


async def test_invalid_contents_are_not_applied_again(world, caplog):
    world.failure = InvalidConfigError("jwt is broken")
    await world.write_and_poll(b"second")
    await world.reload.poll()
    assert world.applied == [b"second"]
    assert "jwt is broken" in caplog.text
    samples = await world.samples()
    assert samples["automatic_reloads_total", "failure"] == 1
    assert samples["last_config_info", hash_label(b"first")] == 1


async def test_contents_are_applied_again_after_an_error_of_the_system(world):
    world.failure = TimeoutError("too slow")
    await world.write_and_poll(b"second")
    world.failure = None
    await world.reload.poll()
    assert world.applied == [b"second", b"second"]
    samples = await world.samples()
    assert samples["automatic_reloads_total", "failure"] == samples["automatic_reloads_total", "success"] == 1


async def test_missing_file_is_a_failure(world):
    world.path.unlink()
    await world.reload.poll()
    assert (await world.samples())["automatic_reloads_total", "failure"] == 1
    await world.write_and_poll(b"second")
    assert world.applied == [b"second"]


async def test_run_polls_the_file(world):
    tasks = Supervisor("test")
    tasks.start("reload", world.reload.run())
    world.path.write_bytes(b"second")
    await world.clock.advance(RELOAD_SECONDS)
    await world.changed.wait()
    await tasks.close()
    assert world.applied == [b"second"]
