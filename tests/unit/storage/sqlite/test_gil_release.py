from __future__ import annotations

import threading

import pytest
from tests.busy_machine import HANG_SECONDS

from steersman.storage.sqlite import gil_release as gil_release_module
from steersman.storage.sqlite.gil_release import IDLE_WAITS_MAX, GILRelease


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
def gil_release(work, monkeypatch):
    monkeypatch.setattr(gil_release_module, "RELEASE_SECONDS", 0.0)
    return GILRelease(work.progress)


def wait_without_progress(gil_release):
    for _ in range(IDLE_WAITS_MAX):
        assert gil_release.wait() == 0
    assert gil_release.wait() > 0
    assert gil_release.wait() > 0


def test_wait_pauses_after_waits_without_progress(gil_release):
    wait_without_progress(gil_release)


def test_wait_does_not_pause_while_there_is_progress(gil_release, work):
    for _ in range(2 * IDLE_WAITS_MAX):
        work.steps += 1
        assert gil_release.wait() == 0
    wait_without_progress(gil_release)
    work.steps += 1
    assert gil_release.wait() == 0


def test_notify_counts_as_progress(gil_release):
    wait_without_progress(gil_release)
    gil_release.notify()
    assert gil_release.wait() == 0


def test_repeated_notifications_end_one_wait(gil_release):
    for _ in range(3):
        gil_release.notify()
    gil_release.wait()
    wait_without_progress(gil_release)


def test_notify_ends_the_wait_of_the_loop(monkeypatch, work):
    monkeypatch.setattr(gil_release_module, "RELEASE_SECONDS", 60.0)
    gil_release = GILRelease(work.progress)
    timer = threading.Timer(0, gil_release.notify)
    timer.start()
    assert gil_release.wait() == 0
    timer.join()


def test_wait_returns_when_its_time_is_up_before_it_waits(work, monkeypatch):
    """``SimpleQueue.get`` would wait for ever: the first wait consumes no notification, the second one has no time left."""
    monkeypatch.setattr(gil_release_module, "RELEASE_SECONDS", 1e-6)
    gil_release = GILRelease(work.progress)

    def wait_often():
        for _ in range(2000):
            gil_release.notify()
            gil_release.wait()
            gil_release.wait()

    thread = threading.Thread(target=wait_often, daemon=True)
    thread.start()
    thread.join(HANG_SECONDS)
    assert not thread.is_alive()
