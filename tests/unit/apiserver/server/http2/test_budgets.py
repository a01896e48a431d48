"""Budgets of frames over time."""

import pytest

from steersman.apiserver.server.http2 import limits
from steersman.apiserver.server.http2.budgets import FrameBudgets
from steersman.asynckit.clock import FakeClock


@pytest.fixture
def clock():
    return FakeClock()


def test_control_frames_beyond_the_burst_exceed_the_budget(clock):
    budgets = FrameBudgets(4, clock=clock)
    budgets.take_control_frames(limits.CONTROL_FRAMES_BURST)
    assert not budgets.is_exceeded
    budgets.take_control_frames(1)
    assert budgets.is_exceeded


def test_sent_data_entitles_to_two_window_updates(clock):
    budgets = FrameBudgets(4, clock=clock)
    assert not budgets.take_window_update()
    budgets.add_data_frames(1)
    assert [budgets.take_window_update() for _ in range(3)] == [True, True, False]


def test_resets_are_limited_by_the_number_of_streams(clock):
    budgets = FrameBudgets(4, clock=clock)
    for _ in range(4 * limits.RESET_BURST_PER_STREAM):
        budgets.take_reset()
    assert not budgets.is_exceeded
    budgets.take_reset()
    assert budgets.is_exceeded


async def test_budgets_refill(clock):
    budgets = FrameBudgets(4, clock=clock)
    for _ in range(4 * limits.RESET_BURST_PER_STREAM):
        budgets.take_reset()
    await clock.advance(1)
    for _ in range(4 * limits.RESETS_PER_STREAM_SECOND):
        budgets.take_reset()
    assert not budgets.is_exceeded
