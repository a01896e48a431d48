"""ResourceUsage, ClusterResourceUsage and Metric of KWOK."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest

from steersman.apimachinery.trees import Tree
from steersman.asynckit.clock import FakeClock
from steersman.nodes.kubelet.assembly import metrics_page
from steersman.nodes.kwok.metrics import MetricPages
from steersman.nodes.kwok.stage_files import read_stage_file
from steersman.nodes.kwok.usage import Usages
from steersman.nodes.kwok.usage_expressions import UsageError
from steersman.nodes.kwok.usage_pages import read_usage
from steersman.nodes.node_object import TemplateError
from steersman.nodes.options import NodesOptions

FILE = Path(__file__).parent / "stages" / "usage.yaml"
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
MEBI = 2**20


def pod(name: str = "p", *containers: Tree, **metadata: Any) -> Tree:
    new_created = containers or ({"name": "c", "image": "i"},)
    statuses = [
        {"name": item["name"], "ready": True, "restartCount": 4, "state": {"running": {"startedAt": "2026-01-02T03:03:25Z"}}}
        for item in new_created
    ]  # fmt: skip
    created = {"name": name, "namespace": "default", "uid": name, "creationTimestamp": "2026-01-02T03:03:45Z"}
    return {
        "metadata": {**created, **metadata},
        "spec": {"nodeName": "node-0", "containers": list(new_created)},
        "status": {"containerStatuses": statuses},
    }


NODE: Tree = {"metadata": {"name": "node-0", "creationTimestamp": "2026-01-02T03:04:00Z"}}


def usages(*specs: Tree, kind: str = "ClusterResourceUsage", **metadata: str) -> Usages:
    head = {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": kind, "metadata": {"name": "u", **metadata}}
    return Usages([{**head, "spec": spec} for spec in specs], dice=Random(1))


def usage(of: Usages, obj: Tree, resource: str = "cpu", container: str = "c") -> float:
    return of.of_container(obj, container, resource, node=NODE, now=NOW)


def of_expression(text: str, obj: Tree | None = None) -> float:
    return usage(usages({"usages": [{"usage": {"cpu": {"expression": text}}}]}), obj or pod())


def test_usage_of_the_file() -> None:
    documents = [item for kind in read_stage_file(FILE).others.values() for item in kind]
    of = read_usage(documents, dice=Random(1)).usages
    assert usage(of, pod()) == 0.001
    assert usage(of, pod(annotations={"example.com/cpu": "200m"})) == 0.2
    assert usage(of, pod(), "memory") == 3 * MEBI
    asking = {"name": "c", "image": "i", "resources": {"requests": {"memory": "10Mi"}}}
    assert usage(of, pod("p", asking), "memory") == 5 * MEBI
    fixed = {"name": "fixed", "image": "i"}
    assert usage(of, pod("p", fixed), container="fixed") == 0.25
    assert usage(of, pod("own")) == pytest.approx(0.02)
    assert usage(of, pod("own", namespace="other")) == 0.001
    assert usage(of, pod(), "nvidia.com/gpu") == 0.0
    assert of.of_pod(pod("p", asking, fixed), "memory", node=NODE, now=NOW) == 6 * MEBI
    assert of.cumulative(pod("p", fixed), "fixed", "cpu", node=NODE, now=NOW) == 10.0


def test_container_that_does_not_run_uses_nothing() -> None:
    new_pod = pod()
    new_pod["status"]["containerStatuses"][0]["state"] = {"waiting": {"reason": "CrashLoopBackOff"}}
    assert usage(usages({"usages": [{"usage": {"cpu": {"value": "1"}}}]}), new_pod) == 0.0


@pytest.mark.parametrize(
    ("selector", "is_selected"),
    [
        ({}, True),
        ({"matchNamespaces": ["default"], "matchNames": ["p", "q"]}, True),
        ({"matchNamespaces": ["other"]}, False),
        ({"matchNames": ["q"]}, False),
    ],
)
def test_cluster_usage_selects_pods(selector: Tree, is_selected: bool) -> None:
    of = usages({"selector": selector, "usages": [{"usage": {"cpu": {"value": 2}}}]})
    assert usage(of, pod()) == (2.0 if is_selected else 0.0)


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("Quantity('1') + Quantity('500m')", 1.5),
        ("Quantity('2') - Quantity('500m')", 1.5),
        ("Quantity('1') * 1.5", 1.5),
        ("Quantity('3') / 2", 1.5),
        ("Quantity('1') < Quantity('2') && Quantity('2') >= Quantity('2') ? 1 : 0", 1.0),
        ("Quantity('1Ki').AsApproximateFloat64() / 2.0", 512.0),
        ("SinceSecond(pod) + node.SinceSecond()", 25.0),
        ("UnixSecond(Now()) - pod.metadata.creationTimestamp.UnixSecond()", 20.0),
        ("Rand() < 1.0", 1.0),
        ("size(pod.metadata.labels)", 0.0),
    ],
)
def test_expressions(text: str, amount: float) -> None:
    assert of_expression(text) == pytest.approx(amount)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("pod.metadata.name", "'p' is not a number or a quantity"),
        ("Quantity(pod.metadata.name)", "expression .*quantities must match the regular expression"),
        ("Quantity('1') / 0", "division by zero"),
        ("-1", "usage cannot be negative"),
        ("container.SinceSecond()", "the object has no creationTimestamp"),
    ],
)
def test_expression_without_a_value_is_an_error(text: str, fault: str) -> None:
    with pytest.raises(UsageError, match=fault):
        of_expression(text)


@pytest.mark.parametrize(
    ("document", "fault"),
    [
        ({"usages": [{"usage": {"cpu": {}}}]}, "usage.cpu: exactly one of value and expression must be set"),
        ({"usages": [{"usage": {"cpu": {"value": "lots"}}}]}, "usage.cpu.value: 'lots': "),
        ({"usages": [{"usage": {"cpu": {"expression": "1 +"}}}]}, "expression '1 +'"),
        ({"usages": [{"use": {}}]}, "unknown field `use`"),
    ],
)
def test_invalid_usage_is_rejected(document: Tree, fault: str) -> None:
    with pytest.raises(TemplateError) as caught:
        usages(document)
    assert fault in str(caught.value)


def test_resource_usage_has_no_selector() -> None:
    with pytest.raises(TemplateError, match="selector: is not a field of ResourceUsage"):
        usages({"selector": {}}, kind="ResourceUsage")


def metric(**config: Any) -> list[Tree]:
    spec = {
        "path": config.pop("path", "/metrics/nodes/{nodeName}/x"),
        "metrics": [{"name": "m", "kind": "gauge", **config}],
    }
    return [{"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Metric", "metadata": {"name": "x"}, "spec": spec}]


@pytest.mark.parametrize(
    ("config", "fault"),
    [
        ({"value": "1", "path": "/metrics/x"}, "must begin with /metrics and contain {nodeName} once"),
        ({"value": "1", "path": "/x/{nodeName}"}, "must begin with /metrics"),
        ({"value": "1", "dimension": "cluster"}, "Invalid enum value 'cluster'"),
        ({"value": "nosuch()"}, "metric m: expression 'nosuch()'"),
        ({}, "metric m: a histogram has buckets, other kinds have a value"),
        ({"kind": "histogram", "value": "1"}, "metric m: a histogram has buckets"),
    ],
)
def test_invalid_metric_is_rejected(config: Tree, fault: str) -> None:
    with pytest.raises(TemplateError) as caught:
        read_usage(metric(**config), dice=Random(1))
    assert fault in str(caught.value)


PAGE = """\
# HELP scrape_error Always 0
# TYPE scrape_error gauge
scrape_error 0
# HELP container_cpu_usage_seconds_total Cumulative cpu time
# TYPE container_cpu_usage_seconds_total counter
container_cpu_usage_seconds_total{container="fixed",pod="p"} 10
container_cpu_usage_seconds_total{container="c",pod="q"} 8
# TYPE pod_memory_working_set_bytes gauge
pod_memory_working_set_bytes{pod="p"} 1048576
pod_memory_working_set_bytes{pod="q"} 3145728
# TYPE node_memory_working_set_bytes gauge
node_memory_working_set_bytes 4194304
# TYPE container_restarts counter
container_restarts{container="fixed"} 4
container_restarts{container="c"} 4
# TYPE node_age gauge
node_age 5
# TYPE latency histogram
latency_bucket{verb="GET",le="0.5"} 2
latency_bucket{verb="GET",le="5"} 6
latency_bucket{verb="GET",le="+Inf"} 6
latency_sum{verb="GET"} 9
latency_count{verb="GET"} 6
"""


def test_page_of_metrics_about_a_node() -> None:
    elsewhere, ended = pod("elsewhere"), pod("ended")
    elsewhere["spec"]["nodeName"] = "node-1"
    ended["status"]["phase"] = "Succeeded"
    pods = [
        pod("p", {"name": "fixed", "image": "i"}), pod("q", annotations={"example.com/cpu": "200m"}), elsewhere, ended,
    ]  # fmt: skip
    options = NodesOptions(stages=f"default,{FILE}")
    page = metrics_page(options, {"node-0": NODE}.get, lambda: pods, clock=FakeClock(NOW), dice=Random(1))
    assert page("/metrics/nodes/node-0/metrics/resource") == PAGE
    assert page("/metrics/nodes/node-7/metrics/resource") is None
    assert page("/metrics/nodes/node-0/other") is None
    nothing = metrics_page(NodesOptions(), {"node-0": NODE}.get, lambda: pods, clock=FakeClock(NOW), dice=Random(1))
    assert nothing("/metrics/nodes/node-0/metrics/resource") is None


def test_names_with_dots_are_escaped_in_the_text_format() -> None:
    gauge = {"kind": "gauge", "dimension": "pod", "value": "1.0", "help": "Pods"}
    io = [{"name": "k8s.pod.name", "value": "pod.metadata.name"}, {"name": "direction", "value": '"receive"'}]
    metrics = [{**gauge, "name": "k8s.pod.io", "labels": io}, {**gauge, "name": "4xx:rate"}]
    document = {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Metric",
        "metadata": {"name": "m"},
        "spec": {"path": "/metrics/nodes/{nodeName}/m", "metrics": metrics},
    }
    pages = MetricPages([document], usages(), dice=Random(1))
    assert pages.render("/metrics/nodes/node-0/m", NODE, [pod("p")], now=NOW).splitlines() == [
        "# HELP k8s_pod_io Pods",
        "# TYPE k8s_pod_io gauge",
        'k8s_pod_io{k8s_pod_name="p",direction="receive"} 1',
        "# HELP _xx:rate Pods",
        "# TYPE _xx:rate gauge",
        "_xx:rate 1",
    ]


def test_bad_usage_in_a_file_is_reported_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "usage.yaml"
    file.write_text(
        "apiVersion: kwok.x-k8s.io/v1alpha1\nkind: ClusterResourceUsage\nmetadata: {name: mine}\n"
        "spec: {usages: [{usage: {cpu: {value: lots}}}]}"
    )
    with pytest.raises(TemplateError, match=r"usage.yaml: clusterresourceusage mine: usage.cpu.value: 'lots'"):
        NodesOptions(stages=f"default,{file}").pod_stages()
