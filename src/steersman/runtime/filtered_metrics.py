"""A registry of metrics as a filter leaves it, for ``exposition``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client import CollectorRegistry

    from steersman.apimachinery.metric_filter import MetricFilter


class FilteredRegistry(Collector):
    """Collector of the metrics of a registry that a filter leaves."""

    def __init__(self, registry: CollectorRegistry, metric_filter: MetricFilter) -> None:
        self._registry = registry
        self._filter = metric_filter

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics."""
        for metric in self._registry.collect():
            name = f"{metric.name}_total" if metric.type == "counter" else metric.name
            if name in self._filter.disabled:
                continue
            yield self._constrained(name, metric) if name in self._filter.allowed else metric

    def _constrained(self, name: str, metric: Metric) -> Metric:
        samples = [(sample.name, tuple(sample.labels.items()), sample.value) for sample in metric.samples]
        result = Metric(metric.name, metric.documentation, metric.type)
        for sample_name, labels, value in self._filter.constrain(name, samples, adds=metric.type != "gauge"):
            result.add_sample(sample_name, dict(labels), value)
        return result
