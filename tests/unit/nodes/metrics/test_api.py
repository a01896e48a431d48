"""The resources of metrics.k8s.io."""

import pytest
from tests.unit.nodes.metrics.test_usage import pod

from steersman.apimachinery.errors import StatusError
from steersman.asynckit.clock import FakeClock
from steersman.nodes.metrics.api import Lookup, MetricsAPI
from steersman.nodes.metrics.usage import default_usage

PATH = "/apis/metrics.k8s.io/v1beta1"


def named(name, namespace="default", node="n", **metadata):
    new_pod = pod(requests={"cpu": "200m"}, annotations=metadata.pop("annotations", None))
    new_pod["metadata"] |= {"name": name, "namespace": namespace, **metadata}
    new_pod["spec"]["nodeName"] = node
    return new_pod


PODS = [named("a", labels={"app": "x"}), named("b", "other"), named("c", node="gone")]
NODES = [{"metadata": {"name": "n", "labels": {"role": "x"}}}, {"metadata": {"name": "idle"}}]


def api(pods=PODS):
    return MetricsAPI(Lookup(lambda: NODES, lambda: pods), default_usage, clock=FakeClock())


def names(path, **query):
    return [item["metadata"]["name"] for item in api().answer("GET", PATH + path, query)["items"]]


def test_pods_are_listed_by_namespace_labels_and_fields():
    assert names("/pods") == ["a", "b", "c"]
    assert names("/namespaces/other/pods") == ["b"]
    assert names("/pods", labelSelector="app=x") == ["a"]
    assert names("/pods", fieldSelector="metadata.name!=a,metadata.namespace=default") == ["c"]


def test_pod_has_the_usage_of_its_containers():
    result = api().answer("GET", f"{PATH}/namespaces/default/pods/a", {})
    assert (result["kind"], result["apiVersion"], result["window"]) == ("PodMetrics", "metrics.k8s.io/v1beta1", "10s")
    assert result["containers"] == [{"name": "c", "usage": {"cpu": "100000000n", "memory": "1024Ki"}}]
    assert result["metadata"]["labels"] == {"app": "x"}


def test_node_has_the_usage_of_its_pods():
    assert names("/nodes") == ["n", "idle"]
    assert names("/nodes", labelSelector="role=x") == ["n"]
    assert api().answer("GET", f"{PATH}/nodes/n", {})["usage"] == {"cpu": "200000000n", "memory": "2048Ki"}
    assert api().answer("GET", f"{PATH}/nodes/idle", {})["usage"]["cpu"] == "0n"


def test_pod_with_an_invalid_annotation_is_left_out():
    pods = [named("a", annotations={"kwok.x-k8s.io/usage-cpu": "a lot"}), named("b")]
    assert [item["metadata"]["name"] for item in api(pods).answer("GET", f"{PATH}/pods", {})["items"]] == ["b"]


@pytest.mark.parametrize("path", ["/apis", "/apis/metrics.k8s.io", PATH])
def test_discovery_documents_name_the_group(path):
    assert "metrics.k8s.io" in str(api().answer("GET", path, {}))


@pytest.mark.parametrize(
    ("method", "path", "query", "code"),
    [
        ("GET", "/nodes/missing", {}, 404),
        ("GET", "/namespaces/default/pods/missing", {}, 404),
        ("GET", "/else", {}, 404),
        ("POST", "/pods", {}, 405),
        ("GET", "/pods", {"labelSelector": "a=b=c"}, 400),
        ("GET", "/pods", {"fieldSelector": "spec.nodeName=n"}, 400),
    ],
)
def test_other_requests_are_errors(method, path, query, code):
    with pytest.raises(StatusError) as caught:
        api().answer(method, PATH + path, query)
    assert caught.value.code == code
