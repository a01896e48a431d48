"""Client of the metrics APIs: request paths, units, and upstream's error texts."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from lightkube.models.autoscaling_v2 import CrossVersionObjectReference, MetricIdentifier
from lightkube.models.meta_v1 import LabelSelector
from tests.unit.client.scripted import ScriptedTransport, answer, refusal

from steersman.client import Client
from steersman.controllers.podautoscaler.metrics_api import MetricsAPI
from steersman.controllers.podautoscaler.replicas import Measured, MetricError


def scripted(*steps):
    """Return the API over scripted responses, and the transport."""
    transport = ScriptedTransport(*steps)
    return MetricsAPI(Client(transport)), transport


def pod_metrics(name, *usages, at="2026-01-01T00:00:00Z"):
    """Return PodMetrics with one container for each usage of CPU; None: a container without usage."""
    containers = [
        {"name": f"c{number}", "usage": {} if cpu is None else {"cpu": cpu}} for number, cpu in enumerate(usages)
    ]
    return {"metadata": {"name": name}, "timestamp": at, "window": "30s", "containers": containers}


async def test_resource_sums_the_containers_of_each_pod_in_thousandths():
    api, transport = scripted(answer({"items": [pod_metrics("a", "100m", "1"), pod_metrics("b", "250000u")]}))
    result = await api.resource("cpu", "default", "app=web")
    at = datetime(2026, 1, 1, tzinfo=UTC)
    assert result == {"a": Measured(1100, at, 30.0), "b": Measured(250, at, 30.0)}
    assert transport.targets == ["GET /apis/metrics.k8s.io/v1beta1/namespaces/default/pods?labelSelector=app%3Dweb"]


async def test_resource_skips_a_pod_with_a_container_without_usage():
    api, _ = scripted(answer({"items": [pod_metrics("a", "100m", None), pod_metrics("b", "200m")]}))
    assert set(await api.resource("cpu", "default", "")) == {"b"}


async def test_resource_of_a_container_returns_its_usage_only():
    api, _ = scripted(answer({"items": [pod_metrics("a", "100m", "300m")]}))
    result = await api.resource("cpu", "default", "", container="c1")
    assert result["a"].milli == 300


async def test_resource_of_a_missing_container_raises_with_upstreams_text():
    api, _ = scripted(answer({"items": [pod_metrics("a", "100m")]}))
    with pytest.raises(MetricError, match="container nginx not present in metrics for pod default/a"):
        await api.resource("cpu", "default", "", container="nginx")


async def test_of_pods_selects_by_metric_labels_and_defaults_the_window():
    item = {"describedObject": {"name": "a"}, "value": "1500m", "timestamp": "2026-01-01T00:00:00Z"}
    api, transport = scripted(answer({"items": [item]}))
    metric = MetricIdentifier("hits", LabelSelector(matchLabels={"verb": "GET"}))
    pods = await api.of_pods(metric, "default", "app=web")
    assert pods == {"a": Measured(1500, datetime(2026, 1, 1, tzinfo=UTC), 60.0)}
    path = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/default/pods/*/hits"
    assert transport.targets == [f"GET {path}?labelSelector=app%3Dweb&metricLabelSelector=verb%3DGET"]


@pytest.mark.parametrize(
    ("reference", "path"),
    [
        (CrossVersionObjectReference("Namespace", "team"), "namespaces/team/metrics/hits"),
        (CrossVersionObjectReference("Service", "web", "v1"), "namespaces/default/services/web/hits"),
        (CrossVersionObjectReference("Ingress", "web", "networking.k8s.io/v1"),
         "namespaces/default/ingresses.networking.k8s.io/web/hits"),
        (CrossVersionObjectReference("Node", "n", "v1"), "nodes/n/hits"),
    ],
)  # fmt: skip
async def test_of_object_has_the_path_of_the_kind(reference, path):
    api, transport = scripted(answer({"items": [{"value": "2k"}]}))
    assert await api.of_object(MetricIdentifier("hits"), "default", reference) == 2_000_000
    assert transport.targets == [f"GET /apis/custom.metrics.k8s.io/v1beta2/{path}"]


async def test_of_object_of_an_unknown_kind_raises():
    api, _ = scripted(answer({"resources": []}))
    with pytest.raises(MetricError, match="unable to fetch metrics from custom metrics API"):
        await api.of_object(MetricIdentifier("hits"), "default", CrossVersionObjectReference("Odd", "x", "e.com/v1"))


async def test_external_sums_all_values():
    api, transport = scripted(answer({"items": [{"value": "1"}, {"value": "500m"}]}))
    assert await api.external(MetricIdentifier("queue"), "default") == 1500
    assert transport.targets == ["GET /apis/external.metrics.k8s.io/v1beta1/namespaces/default/queue"]


async def test_unregistered_apis_are_reported_in_upstreams_words():
    missing = "the server could not find the requested resource"
    api, _ = scripted(*[refusal(404, "NotFound", missing)] * 3)
    with pytest.raises(MetricError) as resource:
        await api.resource("cpu", "default", "")
    with pytest.raises(MetricError) as custom:
        await api.of_pods(MetricIdentifier("hits"), "default", "")
    with pytest.raises(MetricError) as external:
        await api.external(MetricIdentifier("queue"), "default")
    assert [str(raised.value) for raised in (resource, custom, external)] == [
        f"unable to fetch metrics from resource metrics API: {missing} (get pods.metrics.k8s.io)",
        "unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered",
        f"unable to fetch metrics from external metrics API: {missing} (get queue.external.metrics.k8s.io)",
    ]


@pytest.mark.parametrize("body", [{"items": []}, {"items": None}, {}])
async def test_response_without_items_raises(body):
    api, _ = scripted(answer(body))
    with pytest.raises(MetricError, match="no metrics returned from resource metrics API"):
        await api.resource("cpu", "default", "")


async def test_malformed_response_raises():
    api, _ = scripted(answer(body=b"<html>"))
    with pytest.raises(MetricError, match="unable to fetch metrics from resource metrics API"):
        await api.resource("cpu", "default", "")
