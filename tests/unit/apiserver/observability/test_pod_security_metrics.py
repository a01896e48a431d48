"""Metrics of Pod Security."""

from steersman.apiserver.admission.pod_security_metrics import PodSecurityMetrics
from steersman.apiserver.observability.pod_security_metrics import PodSecurityMetricsCollector


async def test_families_without_samples_are_left_out():
    metrics = PodSecurityMetrics()
    collect = PodSecurityMetricsCollector(metrics).collect
    assert await collect() == []
    metrics.exemptions["create", "pod", ""] += 1
    (family,) = await collect()
    labels = (("request_operation", "create"), ("resource", "pod"), ("subresource", ""))
    assert (family.name, family.samples) == ("pod_security_exemptions_total", [("", labels, 1)])
