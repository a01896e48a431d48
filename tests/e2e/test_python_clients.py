"""A round of create, list, watch, patch and delete with every Python client that people use."""

import asyncio
import ssl

import kr8s
import kubernetes
import kubernetes.aio
import lightkube
import pytest
from kr8s.asyncio.objects import ConfigMap as Kr8sConfigMap
from kubernetes.client.exceptions import ApiException
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import ConfigMap

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


def test_the_official_client(cluster, namespace):
    api = kubernetes.client.CoreV1Api(kubernetes.config.new_client_from_config(str(cluster.kubeconfig)))
    body = kubernetes.client.V1ConfigMap(metadata=kubernetes.client.V1ObjectMeta(name="a"), data={"k": "1"})
    made = api.create_namespaced_config_map(namespace, body)
    listed = api.list_namespaced_config_map(namespace)
    assert [item.metadata.name for item in listed.items] == ["a"]
    api.patch_namespaced_config_map("a", namespace, {"data": {"k": "2"}})
    api.delete_namespaced_config_map("a", namespace)
    watch = kubernetes.watch.Watch()
    events = []
    for event in watch.stream(api.list_namespaced_config_map, namespace, resource_version=made.metadata.resource_version, timeout_seconds=20):
        events.append((event["type"], event["object"].data["k"]))
        if event["type"] == "DELETED":
            watch.stop()
    assert events == [("MODIFIED", "2"), ("DELETED", "2")]
    with pytest.raises(ApiException) as missing:
        api.read_namespaced_config_map("a", namespace)
    assert missing.value.status == 404


async def test_the_official_client_in_asyncio(cluster, namespace):
    configuration = kubernetes.aio.client.Configuration()
    await kubernetes.aio.config.load_kube_config(str(cluster.kubeconfig), client_configuration=configuration)
    async with kubernetes.aio.client.ApiClient(configuration) as connection:
        api = kubernetes.aio.client.CoreV1Api(connection)
        body = kubernetes.aio.client.V1ConfigMap(metadata=kubernetes.aio.client.V1ObjectMeta(name="a"), data={"k": "1"})
        made = await api.create_namespaced_config_map(namespace, body)
        assert len((await api.list_namespaced_config_map(namespace)).items) == 1
        await api.patch_namespaced_config_map("a", namespace, {"data": {"k": "2"}})
        await api.delete_namespaced_config_map("a", namespace)
        events = []
        watch = kubernetes.aio.watch.Watch()
        async with watch.stream(api.list_namespaced_config_map, namespace, resource_version=made.metadata.resource_version, timeout_seconds=20) as stream:
            async for event in stream:
                events.append((event["type"], event["object"].data["k"]))
                if event["type"] == "DELETED":
                    break
    assert events == [("MODIFIED", "2"), ("DELETED", "2")]


async def test_kr8s(cluster, namespace):
    api = await kr8s.asyncio.api(kubeconfig=str(cluster.kubeconfig), namespace=namespace)
    made = await Kr8sConfigMap({"metadata": {"name": "a", "namespace": namespace}, "data": {"k": "1"}}, api=api)
    await made.create()
    assert [item.name async for item in api.get("configmaps", namespace=namespace)] == ["a"]
    events = []

    async def follow():
        async for kind, item in api.watch("configmaps", namespace=namespace):
            events.append((kind, item.raw["data"]["k"]))
            if kind == "DELETED":
                return

    async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
        tasks.create_task(follow())
        while not events:
            await asyncio.sleep(0)  # noqa: TID251 — lets the watch begin
        await made.patch({"data": {"k": "2"}})
        await made.delete()
    assert events == [("ADDED", "1"), ("MODIFIED", "2"), ("DELETED", "2")]


def test_lightkube(cluster, namespace):
    config = lightkube.KubeConfig.from_file(str(cluster.kubeconfig))
    client = lightkube.Client(config=config, namespace=namespace)
    made = client.create(ConfigMap(metadata=ObjectMeta(name="a"), data={"k": "1"}))
    assert [item.metadata.name for item in client.list(ConfigMap)] == ["a"]
    client.patch(ConfigMap, "a", {"data": {"k": "2"}})
    client.delete(ConfigMap, "a")
    events = []
    for kind, item in client.watch(ConfigMap, resource_version=made.metadata.resourceVersion, server_timeout=20):
        events.append((kind, item.data["k"]))
        if kind == "DELETED":
            break
    assert events == [("MODIFIED", "2"), ("DELETED", "2")]


def test_a_client_without_the_ca_is_warned_off(cluster):
    context = ssl.create_default_context()
    import urllib.error
    import urllib.request

    with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
        urllib.request.urlopen(cluster.url, context=context)
