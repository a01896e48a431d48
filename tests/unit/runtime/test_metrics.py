from steersman.runtime.metrics import RuntimeMetrics, UnexposedMetrics
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


def test_unexposed_metrics_have_no_series_of_queues_reconciles_and_requests():
    metrics = UnexposedMetrics()
    controller, queue = metrics.controller("one"), metrics.queue("one")
    controller.set_workers(3)
    with controller.in_progress():
        queue.added()
        queue.taken(0.1)
    controller.done(Outcome.ERROR, 0.5)
    metrics.client.request_done(method="GET", host="h", code="200", duration_seconds=0.1)
    names = {sample.name for family in metrics.registry.collect() for sample in family.samples}
    assert not {name for name in names if name.startswith(("workqueue", "controller_runtime", "rest_client"))}
