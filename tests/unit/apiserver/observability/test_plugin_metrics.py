"""Metrics of admission plugins."""

from steersman.apiserver.admission.plugin_metrics import PluginMetrics
from steersman.apiserver.observability.plugin_metrics import PluginMetricsCollector


async def test_outcomes_without_writes_have_no_series():
    metrics = PluginMetrics()
    metrics.of_plugin("Priority", "CREATE", "admit").reject(0.5)
    families = list(await PluginMetricsCollector(metrics).collect())
    assert [family.name for family in families] == ["apiserver_admission_controller_admission_duration_seconds"]
    labels = {dict(labels)["rejected"] for _, labels, _ in families[0].samples}
    assert labels == {"true"}
