"""lightkube."""

import json
import sys

import lightkube
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import ConfigMap

kubeconfig, namespace = sys.argv[1:]
client = lightkube.Client(config=lightkube.KubeConfig.from_file(kubeconfig), namespace=namespace)
created = client.create(ConfigMap(metadata=ObjectMeta(name="a"), data={"k": "1"}))
listed = [item.metadata.name for item in client.list(ConfigMap)]
client.patch(ConfigMap, "a", {"data": {"k": "2"}})
client.delete(ConfigMap, "a")
events = []
for kind, item in client.watch(ConfigMap, resource_version=created.metadata.resourceVersion, server_timeout=120):
    events.append((kind, item.data["k"]))
    if kind == "DELETED":
        break
print(json.dumps({"listed": listed, "events": events}))
