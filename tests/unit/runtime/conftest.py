"""A server in this process, and a client of it, on a clock that tests advance."""

import random

import pytest

from steersman.asynckit.clock import FakeClock
from steersman.client import Client
from steersman.controlplane.loopback_transport import LoopbackTransport
from steersman.runtime.context import ControllerContext
from steersman.testing import InProcessAPIServer


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
async def server(clock):
    async with InProcessAPIServer(clock=clock) as running:
        yield running


@pytest.fixture
def client(server, clock):
    return Client(LoopbackTransport(server.core.client), clock=clock)


@pytest.fixture
def dice():
    return random.Random(1)


@pytest.fixture
async def context(client, dice):
    controller_context = ControllerContext(client, dice=dice)
    yield controller_context
    await controller_context.informers.close()


@pytest.fixture
def until(clock):
    """``await until(condition)``: let time pass in small steps until it holds."""

    async def passing(condition, *, step_seconds=0.05, within_seconds=30):
        for _ in range(int(within_seconds / step_seconds)):
            if condition():
                return
            await clock.advance(step_seconds)
        raise AssertionError("it did not come about")

    return passing
