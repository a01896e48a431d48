"""Durations of admission plugins."""

from steersman.apiserver.admission.plugin_metrics import Durations, PluginMetrics


def test_durations_are_in_the_buckets_of_upstream():
    durations = Durations()
    for seconds in (0.001, 0.005, 0.006, 9.0):
        durations.accept(seconds)
    assert durations.accepted.counts == [2, 1, 0, 0, 0, 0, 1]
    assert round(durations.accepted.total, 3) == 9.012


def test_label_sets_share_their_durations():
    metrics = PluginMetrics()
    assert metrics.of_plugin("Priority", "CREATE", "admit") is metrics.of_plugin("Priority", "CREATE", "admit")
    assert metrics.of_step("CREATE", "admit") is not metrics.of_step("CREATE", "validate")
