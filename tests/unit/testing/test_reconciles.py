"""Record of reconciles."""

import pytest

from steersman.asynckit.clock import FakeClock
from steersman.runtime.reconcile_log import Attempt
from steersman.runtime.result import Outcome
from steersman.testing.reconciles import CURRENT_RECONCILE, ReconcileTrace


def reconcile(trace, key="default/a", cause="Pod default/a updated", failure=None):
    trace.started("web", key, cause)
    trace.finished("web", key, cause, Attempt(Outcome.SUCCESS, None, failure, 0.0), "nothing")


async def test_key_that_is_reconciled_too_often_is_a_hot_loop():
    clock = FakeClock()
    trace = ReconcileTrace(clock)
    for _ in range(5):
        reconcile(trace)
        reconcile(trace, key="default/b")
        await clock.advance(1)
    for _ in range(5):
        reconcile(trace, cause="Pod default/a added")
    (loop,) = trace.hot_loops(count=8, seconds=10)
    assert (loop.controller, loop.key, loop.count) == ("web", "default/a", 10)
    assert set(loop.causes) == {"Pod default/a updated", "Pod default/a added"}


async def test_slow_reconciles_are_no_hot_loop():
    clock = FakeClock()
    trace = ReconcileTrace(clock)
    for _ in range(20):
        reconcile(trace)
        await clock.advance(10)
    assert trace.hot_loops(count=5, seconds=10) == []


@pytest.fixture(autouse=True)
def _reconcile_of_the_test():
    token = CURRENT_RECONCILE.set("")
    yield
    CURRENT_RECONCILE.reset(token)


def test_report_has_counts_causes_and_errors():
    trace = ReconcileTrace(FakeClock())
    reconcile(trace)
    since = trace.total
    reconcile(trace, failure=RuntimeError("no luck"))
    trace.started("web", "default/c", "Pod default/c added")
    assert trace.report(since) == [
        "running: web default/c",
        "web reconciled default/a 1 times, last because of Pod default/a updated: success, no luck",
    ]


def test_current_reconcile_is_set_while_it_runs():
    trace = ReconcileTrace(FakeClock())
    trace.started("web", "default/a", "Pod default/a added")
    assert CURRENT_RECONCILE.get() == "web default/a (Pod default/a added)"
    trace.finished("web", "default/a", "", Attempt(Outcome.SUCCESS, None, None, 0.0), "")
    assert CURRENT_RECONCILE.get() == ""


def test_report_names_reconciles_until_the_last_of_their_key_ends():
    trace = ReconcileTrace(FakeClock())
    attempt = Attempt(Outcome.SUCCESS, None, None, 0.0)
    for _ in range(2):
        trace.started("web", "default/a", "")
    trace.finished("web", "default/a", "", attempt, "nothing")
    assert "running: web default/a" in trace.report(0)
    trace.finished("web", "default/a", "", attempt, "nothing")
    assert "running: web default/a" not in trace.report(0)
