"""Static pods of kubeadm: its three command lines, word for word, start the components against each other."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from scripts.ports import free_port
from tests.busy_machine import HANG_SECONDS
from tests.e2e.secure_client import get, make_token, wait_for_listener
from tests.unit.cli import kubeadm_lines
from tests.waits import holder_of, wait_until

from steersman.asynckit.certificates import Pems, make_ca, make_client, make_server
from steersman.asynckit.clock import RealClock
from steersman.client import Client, tree
from steersman.client.connecting import connect

LIFE = timedelta(days=1)
LEASE = tree("coordination.k8s.io/v1", "Lease")
CONFIG_MAP, NODE, POD = tree("v1", "ConfigMap"), tree("v1", "Node"), tree("v1", "Pod")


class Kubeadm:
    """The files of ``kubeadm init``, below a temporary directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.pki = directory / "pki"
        self.pki.mkdir()
        self.now = RealClock().now()
        self.ca = self._ca("ca", "kubernetes")
        front_proxy = self._ca("front-proxy-ca", "front-proxy-ca")
        hosts = ["kubernetes", "kubernetes.default", "localhost", "127.0.0.1", "10.96.0.1"]
        self._write("apiserver", make_server("kube-apiserver", hosts, self.ca, now=self.now, life=LIFE))
        self._client("apiserver-kubelet-client", "kube-apiserver-kubelet-client", ["kubeadm:cluster-admins"], self.ca)
        self._client("front-proxy-client", "front-proxy-client", [], front_proxy)
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        private = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
        (self.pki / "sa.key").write_bytes(private)
        public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        (self.pki / "sa.pub").write_bytes(public)

    def _ca(self, name: str, subject: str) -> Pems:
        ca = make_ca(subject, now=self.now, life=LIFE)
        self._write(name, ca)
        return ca

    def _write(self, name: str, pems: Pems) -> None:
        (self.pki / f"{name}.crt").write_bytes(pems.certificate)
        (self.pki / f"{name}.key").write_bytes(pems.key)

    def _client(self, name: str, user: str, groups: list[str], authority: Pems) -> None:
        self._write(name, make_client(user, groups, authority, now=self.now, life=LIFE))

    def write_kubeconfig(self, name: str, server: str, user: str, groups: list[str]) -> Path:
        """Write ``NAME.conf`` with a client certificate."""
        self._client(name, user, groups, self.ca)
        path = self.directory / f"{name}.conf"
        identity = {"client-certificate": f"{self.pki}/{name}.crt", "client-key": f"{self.pki}/{name}.key"}
        config = {
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "kubernetes", "cluster": {"server": server, "certificate-authority": f"{self.pki}/ca.crt"}}],
            "users": [{"name": user, "user": identity}],
            "contexts": [{"name": "c", "context": {"cluster": "kubernetes", "user": user}}],
        }  # fmt: skip
        path.write_text(yaml.safe_dump(config))
        return path

    def line(self, words: tuple[str, ...]) -> list[str]:
        """Return a command line with the directories of kubeadm replaced, and a free port."""
        replaced = [word.replace(kubeadm_lines.KUBERNETES, str(self.directory)) for word in words]
        return ["--secure-port=0" if word == "--secure-port=6443" else word for word in replaced]


@contextmanager
def running(log: Path, command: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    with (
        log.open("w") as errors,
        subprocess.Popen(
            [sys.executable, "-m", "steersman", command, *arguments],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        try:
            yield process
        finally:
            process.terminate()
            process.wait(HANG_SECONDS)


@pytest.fixture
def files(tmp_path: Path) -> Kubeadm:
    return Kubeadm(tmp_path)


async def test_components_of_kubeadm_run_a_deployment(files: Kubeadm) -> None:
    api_server = files.line(kubeadm_lines.API_SERVER)
    log, data = files.directory / "log", files.directory / "data"
    with running(log, "apiserver", *api_server, f"--data-dir={data}", "--storage=sqlite") as server:
        assert server.stdout is not None
        first_line = server.stdout.readline()
        url = yaml.safe_load((data / "admin.kubeconfig").read_text())["clusters"][0]["cluster"]["server"]
        assert url in first_line
        assert "flag --etcd-servers has no effect: objects are kept in the embedded store" in log.read_text()
        admin = files.write_kubeconfig("admin", url, "kubernetes-admin", ["system:masters"])
        manager = files.write_kubeconfig("controller-manager", url, "system:kube-controller-manager", [])
        scheduler = files.write_kubeconfig("scheduler", url, "system:kube-scheduler", [])
        assert manager.parent == scheduler.parent == files.directory
        ports = free_port(), free_port()
        with (
            running(log.with_suffix(".manager"), "controller-manager", *files.line(kubeadm_lines.CONTROLLER_MANAGER), f"--secure-port={ports[0]}") as manager_process,
            running(log.with_suffix(".scheduler"), "scheduler", *files.line(kubeadm_lines.SCHEDULER), f"--secure-port={ports[1]}") as scheduler_process,
        ):  # fmt: skip
            async with connect(admin) as client:
                await run_deployment(client)
                await until_published(client, files)
                token = await make_token(client, "scraper", role="system:monitoring")
                for port, process in zip(ports, (manager_process, scheduler_process), strict=True):
                    wait_for_listener(port, process)
                    assert await get(port, "/healthz") == (200, "ok")
                    assert (await get(port, "/metrics"))[0] == 403
                    assert (await get(port, "/metrics", token))[0] == 200


async def run_deployment(client: Client) -> None:
    """A Deployment becomes a pod on a node, which has a range of addresses."""
    for name in ("kube-controller-manager", "kube-scheduler"):
        await wait_until(client, LEASE, holder_of, name=name, namespace="kube-system")
    ready = {
        "conditions": [{"type": "Ready", "status": "True"}],
        "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
    }
    await client.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})
    node = await wait_until(client, NODE, lambda node: node["spec"].get("podCIDR"), name="n")
    assert node["spec"]["podCIDR"] == "10.244.0.0/24"
    await client.patch(NODE, "n", {"status": ready}, subresource="status")
    labels = {"app": "web"}
    spec = {
        "replicas": 1,
        "selector": {"matchLabels": labels},
        "template": {
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "c", "image": "i"}], "tolerations": [{"operator": "Exists"}]},
        },
    }
    await client.create(
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}, namespace="default"
    )
    pod = await wait_until(client, POD, lambda pod: pod["spec"].get("nodeName"), namespace="default")
    assert pod["spec"]["nodeName"] == "n"


async def until_published(client: Client, files: Kubeadm) -> None:
    """The root CA and the front proxy's are those of kubeadm."""
    root = await wait_until(client, CONFIG_MAP, bool, name="kube-root-ca.crt", namespace="default")
    assert root["data"]["ca.crt"].strip() == (files.pki / "ca.crt").read_text().strip()
    config = await wait_until(
        client, CONFIG_MAP, bool, name="extension-apiserver-authentication", namespace="kube-system"
    )
    front_proxy = (files.pki / "front-proxy-ca.crt").read_text().strip()
    assert front_proxy in config["data"]["requestheader-client-ca-file"]
