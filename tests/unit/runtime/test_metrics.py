from steersman.runtime.metrics import RuntimeMetrics
from steersman.runtime.result import Outcome


def test_reconciles_are_counted_by_result():
    metrics = RuntimeMetrics()
    one = metrics.controller("one")
    for outcome in (Outcome.SUCCESS, Outcome.ERROR, Outcome.TERMINAL):
        one.done(outcome, 0.5)
    value = metrics.registry.get_sample_value
    assert value("controller_runtime_reconcile_total", {"controller": "one", "result": "success"}) == 1
    assert value("controller_runtime_reconcile_errors_total", {"controller": "one"}) == 2
    assert value("controller_runtime_terminal_reconcile_errors_total", {"controller": "one"}) == 1
    assert value("controller_runtime_reconcile_time_seconds_sum", {"controller": "one"}) == 1.5


def test_managers_have_separate_registries():
    assert RuntimeMetrics().registry is not RuntimeMetrics().registry
