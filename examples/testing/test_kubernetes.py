"""The official client, ``kubernetes``, with a cluster of the test's own."""

import kubernetes
import pytest


@pytest.fixture
def api(cluster):
    client = kubernetes.config.new_client_from_config(str(cluster.kubeconfig))
    yield kubernetes.client.AppsV1Api(client)
    client.close()


def test_deployment_becomes_available(cluster, api):
    labels = {"app": "web"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "nginx"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": pod}
    api.create_namespaced_deployment("default", {"metadata": {"name": "web"}, "spec": spec})
    cluster.wait_for("deployment/web", "condition=Available")
    assert api.read_namespaced_deployment("web", "default").status.ready_replicas == 2
