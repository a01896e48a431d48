import pytest

from steersman.runtime.result import Outcome, Result, TerminalError, outcome_of


@pytest.mark.parametrize(
    ("result", "error", "failures", "retries_max", "outcome"),
    [
        (None, None, 0, None, Outcome.SUCCESS),
        (Result(), None, 0, None, Outcome.SUCCESS),
        (Result(requeue=True), None, 0, None, Outcome.REQUEUE),
        (Result(requeue_after_seconds=0), None, 0, None, Outcome.REQUEUE_AFTER),
        (Result(requeue_after_seconds=5, requeue=True), None, 0, None, Outcome.REQUEUE_AFTER),
        (None, RuntimeError(), 1000, None, Outcome.ERROR),
        (None, RuntimeError(), 2, 3, Outcome.ERROR),
        (None, RuntimeError(), 3, 3, Outcome.TERMINAL),
        (None, TerminalError(), 0, None, Outcome.TERMINAL),
    ],
)
def test_outcome_of_result_error_and_failures(result, error, failures, retries_max, outcome):
    assert outcome_of(result, error, failures=failures, retries_max=retries_max) is outcome


def test_outcome_distinguishes_errors_from_success():
    assert [outcome.is_error for outcome in Outcome] == [False, False, False, True, True]
    assert [outcome.is_terminal for outcome in Outcome] == [False, False, False, False, True]
