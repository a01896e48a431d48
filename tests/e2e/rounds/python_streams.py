"""The official Python client runs a command in the pod ``p``, and speaks to a port of it."""

import sys

from kubernetes import client, config
from kubernetes.stream import portforward, stream

namespace, port = sys.argv[1], int(sys.argv[2])
config.load_kube_config()
api = client.CoreV1Api()
output = stream(
    api.connect_get_namespaced_pod_exec,
    "p",
    namespace,
    command=["sh", "-c", "echo out; echo err >&2"],
    stderr=True,
    stdin=False,
    stdout=True,
    tty=False,
)
print(sorted(output.split()))
forwarded = portforward(api.connect_get_namespaced_pod_portforward, "p", namespace, ports=str(port))
connection = forwarded.socket(port)
connection.settimeout(120)
connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
print(connection.recv(4))
connection.close()
