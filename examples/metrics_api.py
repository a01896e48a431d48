"""Aggregated API server: ``metrics.k8s.io`` with made-up usage, so that ``kubectl top`` and autoscalers work.

Run it where the API server runs: ``python metrics_api.py``. It registers itself, and unregisters when it ends. Usage of a pod is
its annotation ``example.com/cpu``, or 100m. ``steersman up --metrics`` has a server of this kind built in.

The API server authenticates and authorizes each request, then forwards it. This server trusts it because of its client
certificate, which the front-proxy CA of the cluster has signed.
"""

import asyncio
import base64
import signal
import ssl
import tempfile
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from steersman.asynckit.clock import RealClock
from steersman.client import Client, connect, tree

Tree = dict[str, Any]

PODS, NODES, CONFIG_MAPS = tree("v1", "Pod"), tree("v1", "Node"), tree("v1", "ConfigMap")
SERVICES, API_SERVICES = tree("v1", "Service"), tree("apiregistration.k8s.io/v1", "APIService")
CLOCK = RealClock()
API, NAME, NAMESPACE = "metrics.k8s.io/v1beta1", "metrics-api", "kube-system"
VERBS = ["get", "list"]
DISCOVERY = {
    "kind": "APIResourceList",
    "apiVersion": "v1",
    "groupVersion": API,
    "resources": [
        {"name": "nodes", "singularName": "", "namespaced": False, "kind": "NodeMetrics", "verbs": VERBS},
        {"name": "pods", "singularName": "", "namespaced": True, "kind": "PodMetrics", "verbs": VERBS},
    ],
}


def serving_tls(host: str, client_ca: str, now: datetime) -> tuple[ssl.SSLContext, bytes]:
    """Return the TLS context of the server, and its self-signed certificate in PEM."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host)])
    certificate = (
        x509.CertificateBuilder(
            name, name, key.public_key(), x509.random_serial_number(), now, now + timedelta(days=30)
        )
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .sign(key, hashes.SHA256())
        .public_bytes(serialization.Encoding.PEM)
    )
    pem, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory, "pem")
        file.touch(mode=0o600)
        file.write_bytes(key.private_bytes(serialization.Encoding.PEM, pem, plain) + certificate)
        context.load_cert_chain(file)
    context.load_verify_locations(cadata=client_ca)
    context.verify_mode = ssl.CERT_REQUIRED  # only API servers may connect
    return context, certificate


class Metrics:
    """The endpoints."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def discovery(self, _: web.Request) -> web.Response:
        return web.json_response(DISCOVERY)

    async def pods(self, request: web.Request) -> web.Response:
        selector, namespace = request.query.get("labelSelector", ""), request.match_info.get("namespace")
        if namespace:
            pods = await self.client.list_all(PODS, namespace=namespace, label_selector=selector)
        else:
            pods = await self.client.list_all(PODS, label_selector=selector)
        return self.listed("PodMetrics", [self.of_pod(pod) for pod in pods if pod["status"]["phase"] == "Running"])

    async def nodes(self, request: web.Request) -> web.Response:
        nodes = await self.client.list_all(NODES, label_selector=request.query.get("labelSelector", ""))
        return self.listed("NodeMetrics", [self.measured(node) | {"usage": usage(node)} for node in nodes])

    def of_pod(self, pod: Tree) -> Tree:
        containers = [{"name": container["name"], "usage": usage(pod)} for container in pod["spec"]["containers"]]
        return self.measured(pod) | {"containers": containers}

    def measured(self, obj: Tree) -> Tree:
        metadata = {key: obj["metadata"][key] for key in ("name", "namespace", "labels") if key in obj["metadata"]}
        return {"metadata": metadata, "timestamp": f"{CLOCK.now():%Y-%m-%dT%H:%M:%SZ}", "window": "10s"}

    def listed(self, kind: str, items: list[Tree]) -> web.Response:
        items = [{"kind": kind, "apiVersion": API, **item} for item in items]
        return web.json_response({"kind": f"{kind}List", "apiVersion": API, "metadata": {}, "items": items})


def usage(obj: Tree) -> dict[str, str]:
    cpu = obj["metadata"].get("annotations", {}).get("example.com/cpu", "100m")
    return {"cpu": cpu, "memory": "64Mi"}


def registration(port: int, certificate: bytes) -> list[Tree]:
    """Return the objects that make ``metrics.k8s.io`` lead to this process."""
    group, version = API.split("/")
    service = {"name": NAME, "namespace": NAMESPACE}
    return [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": service,
            "spec": {"type": "ExternalName", "externalName": "localhost"},
        },
        {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": f"{version}.{group}"},
            "spec": {
                "group": group,
                "version": version,
                "groupPriorityMinimum": 100,
                "versionPriority": 100,
                "service": {**service, "port": port},
                "caBundle": base64.b64encode(certificate).decode(),
            },
        },
    ]


async def main() -> None:
    async with connect() as client:
        published = await client.get(CONFIG_MAPS, "extension-apiserver-authentication", namespace=NAMESPACE)
        client_ca = published["data"]["requestheader-client-ca-file"]
        context, certificate = serving_tls(f"{NAME}.{NAMESPACE}.svc", client_ca, CLOCK.now())
        metrics, app = Metrics(client), web.Application()
        root = f"/apis/{API}"
        app.router.add_get(root, metrics.discovery)
        app.router.add_get(f"{root}/nodes", metrics.nodes)
        app.router.add_get(f"{root}/pods", metrics.pods)
        app.router.add_get(f"{root}/namespaces/{{namespace}}/pods", metrics.pods)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
        await site.start()
        objects = registration(runner.addresses[0][1], certificate)
        for obj in objects:
            await client.apply(obj, field_manager=NAME, force=True)
        print(f"serving {API}", flush=True)
        stopped = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stopped.set)
        await stopped.wait()
        for obj in reversed(objects):
            await client.delete_object(obj)
        await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(main())
