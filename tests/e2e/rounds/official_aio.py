"""The official client in asyncio."""

import asyncio
import json
import sys

from kubernetes.aio import client, config, watch


async def main(kubeconfig: str, namespace: str) -> None:
    configuration = client.Configuration()
    await config.load_kube_config(kubeconfig, client_configuration=configuration)
    async with client.ApiClient(configuration) as connection:
        api = client.CoreV1Api(connection)
        body = client.V1ConfigMap(metadata=client.V1ObjectMeta(name="a"), data={"k": "1"})
        created = await api.create_namespaced_config_map(namespace, body)
        listed = [item.metadata.name for item in (await api.list_namespaced_config_map(namespace)).items]
        await api.patch_namespaced_config_map("a", namespace, {"data": {"k": "2"}})
        await api.delete_namespaced_config_map("a", namespace)
        events = []
        since = created.metadata.resource_version
        following = watch.Watch()
        async with following.stream(
            api.list_namespaced_config_map, namespace, resource_version=since, timeout_seconds=120
        ) as stream:
            async for event in stream:
                events.append((event["type"], event["object"].data["k"]))
                if event["type"] == "DELETED":
                    break
    print(json.dumps({"listed": listed, "events": events}))


asyncio.run(main(*sys.argv[1:]))
