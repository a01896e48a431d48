"""State shared by connections."""

from __future__ import annotations

import asyncio

from steersman.apiserver.server.http1.limits import Timeouts
from steersman.apiserver.server.http1.state import ServerState
from steersman.asynckit.clock import FakeClock


async def app(*_: object) -> None: ...


def test_new_state_is_empty_and_serves():
    clock, timeouts = FakeClock(), Timeouts()
    state = ServerState(app, clock, timeouts)
    assert (state.app, state.clock, state.timeouts) == (app, clock, timeouts)
    assert (state.connections, state.tasks, state.is_draining) == (set(), set(), False)


async def test_states_share_nothing():
    one, other = (ServerState(app, FakeClock(), Timeouts()) for _ in range(2))
    one.tasks.add(asyncio.current_task())  # type: ignore[arg-type]
    assert other.tasks == set()
