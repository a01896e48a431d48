"""lightkube, with its models."""

from lightkube import Client, KubeConfig
from lightkube.models.core_v1 import Container, PodSpec
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import Node, Pod


def test_pod_is_scheduled(cluster):
    client = Client(config=KubeConfig.from_file(str(cluster.kubeconfig)))
    client.create(Pod(metadata=ObjectMeta(name="web"), spec=PodSpec(containers=[Container(name="web", image="nginx")])))
    cluster.wait_for("pod/web", "condition=PodScheduled")
    [node] = client.list(Node)
    assert client.get(Pod, "web").spec.nodeName == node.metadata.name
