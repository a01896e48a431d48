from __future__ import annotations

import threading

import pytest
from tests.busy_machine import HANG_SECONDS

from steersman.storage.sqlite import lending
from steersman.storage.sqlite.lending import FRUITLESS_MAX, Lender


class Work:
    """Progress of a thread."""

    def __init__(self):
        self.steps = 0

    def progress(self):
        return self.steps


@pytest.fixture
def work():
    return Work()


@pytest.fixture
def lender(work, monkeypatch):
    monkeypatch.setattr(lending, "LEND_SECONDS", 0.0)
    return Lender(work.progress)


def lend_in_vain(lender):
    for _ in range(FRUITLESS_MAX):
        assert lender.lend() == 0
    assert lender.lend() > 0
    assert lender.lend() > 0


def test_lend_pauses_after_waits_without_progress(lender):
    lend_in_vain(lender)


def test_lend_does_not_pause_while_there_is_progress(lender, work):
    for _ in range(2 * FRUITLESS_MAX):
        work.steps += 1
        assert lender.lend() == 0
    lend_in_vain(lender)
    work.steps += 1
    assert lender.lend() == 0


def test_notify_counts_as_progress(lender):
    lend_in_vain(lender)
    lender.notify()
    assert lender.lend() == 0


def test_repeated_notifications_end_one_wait(lender):
    for _ in range(3):
        lender.notify()
    lender.lend()
    lend_in_vain(lender)


def test_notify_ends_the_wait_of_the_loop(monkeypatch, work):
    monkeypatch.setattr(lending, "LEND_SECONDS", 60.0)
    lender = Lender(work.progress)
    timer = threading.Timer(0, lender.notify)
    timer.start()
    assert lender.lend() == 0
    timer.join()


def test_lend_returns_when_its_time_is_up_before_it_waits(work, monkeypatch):
    """``SimpleQueue.get`` would wait for ever: the first wait consumes no notification, the second one has no time left."""
    monkeypatch.setattr(lending, "LEND_SECONDS", 1e-6)
    lender = Lender(work.progress)

    def lend_often():
        for _ in range(2000):
            lender.notify()
            lender.lend()
            lender.lend()

    thread = threading.Thread(target=lend_often, daemon=True)
    thread.start()
    thread.join(HANG_SECONDS)
    assert not thread.is_alive()
