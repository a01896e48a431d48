"""Changes of files."""

import asyncio
import logging

import pytest
from tests.busy_machine import advance_until

from steersman.asynckit.clock import FakeClock
from steersman.controlplane.file_follower import FileFollower


@pytest.fixture
def follow(tmp_path):
    """Function that follows two files; ``applied`` receives their contents."""
    first, second = tmp_path / "a", tmp_path / "b"
    first.write_text("1")
    applied = []

    def followed(clock=None):
        async def apply():
            applied.append(first.read_text())

        return FileFollower([first, second], apply, clock=clock or FakeClock())

    return followed, first, second, applied


async def test_each_change_is_applied_once(follow):
    followed, first, second, applied = follow
    follower = followed()
    await follower.check()
    assert applied == []
    for text in ("2", "1"):
        first.write_text(text)
        await follower.check()
        await follower.check()
    second.write_text("new")
    await follower.check()
    assert applied == ["2", "1", "1"]


async def test_error_is_raised_once(follow):
    followed, first, _, applied = follow
    follower = followed()
    first.unlink()
    with pytest.raises(FileNotFoundError):
        await follower.check()
    await follower.check()
    first.write_text("1")
    await follower.check()
    assert applied == ["1"]


async def test_run_survives_errors(follow, caplog):
    followed, first, _, applied = follow
    clock = FakeClock()
    running = asyncio.create_task(followed(clock).run())
    first.unlink()
    with caplog.at_level(logging.WARNING):
        await advance_until(lambda: "changed TLS files are not in use" in caplog.text, clock)
    first.write_text("2")
    await advance_until(lambda: bool(applied), clock)
    running.cancel()
    await asyncio.wait([running])
