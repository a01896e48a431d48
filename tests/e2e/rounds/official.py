"""The official client."""

import json
import sys

import kubernetes

kubeconfig, namespace = sys.argv[1:]
api = kubernetes.client.CoreV1Api(kubernetes.config.new_client_from_config(kubeconfig))
body = kubernetes.client.V1ConfigMap(metadata=kubernetes.client.V1ObjectMeta(name="a"), data={"k": "1"})
created = api.create_namespaced_config_map(namespace, body)
listed = [item.metadata.name for item in api.list_namespaced_config_map(namespace).items]
api.patch_namespaced_config_map("a", namespace, {"data": {"k": "2"}})
api.delete_namespaced_config_map("a", namespace)
watch = kubernetes.watch.Watch()
events = []
since = created.metadata.resource_version
for event in watch.stream(api.list_namespaced_config_map, namespace, resource_version=since, timeout_seconds=120):
    events.append((event["type"], event["object"].data["k"]))
    if event["type"] == "DELETED":
        watch.stop()
print(json.dumps({"listed": listed, "events": events}))
