"""Start sequence of controller-runtime's envtest, with its flags, certificates, health checks and stop.

Copied in meaning from ``sigs.k8s.io/controller-runtime/pkg/internal/testing``: ``controlplane/{plane,etcd,apiserver,auth}.go``,
``process/process.go``, ``certs/tinyca.go``, ``addr/manager.go``.
"""

from __future__ import annotations

import base64
import http.client
import ipaddress
import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from datetime import timedelta
from http import HTTPStatus
from pathlib import Path
from typing import IO, Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from scripts.ports import free_port
from tests.busy_machine import HANG_SECONDS

from steersman.asynckit.clock import RealClock

#: Envtest's interval of health checks.
POLL_SECONDS = 0.1


class TinyCA:
    """``certs.TinyCA``: RSA keys of 2048 bits, PKCS #8, certificates of a week."""

    def __init__(self) -> None:
        self.key = rsa.generate_private_key(65537, 2048)
        self.name = x509.Name(
            [
                x509.NameAttribute(NameOID.ORGANIZATION_NAME, "envtest"),
                x509.NameAttribute(NameOID.COMMON_NAME, "envtest-environment"),
            ]
        )
        usage = x509.KeyUsage(
            digital_signature=True, key_encipherment=True, key_cert_sign=True, content_commitment=False,
            data_encipherment=False, key_agreement=False, crl_sign=False, encipher_only=False, decipher_only=False,
        )  # fmt: skip
        # Go's x509.CreateCertificate adds the key identifier to each CA, and to what the CA signs.
        self.key_id = x509.SubjectKeyIdentifier.from_public_key(self.key.public_key())
        self.certificate = (
            self._builder(self.name, self.key, 3650)
            .add_extension(self.key_id, critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName("envtest-environment")]), critical=False)
            .sign(self.key, hashes.SHA256())
        )

    def _builder(self, subject: x509.Name, key: rsa.RSAPrivateKey, days: int) -> x509.CertificateBuilder:
        now = RealClock().now()
        issuer = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(self.key_id)
        return (
            x509.CertificateBuilder()
            .add_extension(issuer, critical=False)
            .subject_name(subject)
            .issuer_name(self.name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(seconds=1))
            .not_valid_after(now + timedelta(days=days))
        )

    def serving_pair(self) -> tuple[bytes, bytes]:
        key = rsa.generate_private_key(65537, 2048)
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
        names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        certificate = (
            self._builder(subject, key, 7)
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .sign(self.key, hashes.SHA256())
        )
        return pem(certificate), pem_key(key)

    def client_pair(self, name: str, groups: list[str]) -> tuple[bytes, bytes]:
        key = rsa.generate_private_key(65537, 2048)
        organizations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        subject = x509.Name([*organizations, x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate = (
            self._builder(subject, key, 7)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
            .sign(self.key, hashes.SHA256())
        )
        return pem(certificate), pem_key(key)


def pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def pem_key(key: rsa.RSAPrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


class Client:
    """Requests of one user."""

    def __init__(self, url: str, context: ssl.SSLContext) -> None:
        self._url, self._context = url, context

    def __call__(self, method: str, path: str, body: Any = None) -> Any:
        """Return the decoded response."""
        with self._open(method, path, body) as answer:
            return json.load(answer)

    def _open(self, method: str, path: str, body: Any = None) -> http.client.HTTPResponse:
        headers = {"Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._url + path, data, headers, method=method)
        return urllib.request.urlopen(request, context=self._context, timeout=HANG_SECONDS)

    def until(self, collection: str, name: str, holds: Callable[[str, Any], bool]) -> None:
        """Watch an object until ``holds`` of an event's type and object."""
        query = f"watch=true&fieldSelector=metadata.name%3D{name}&timeoutSeconds={HANG_SECONDS}"
        with self._open("GET", f"{collection}?{query}") as stream:
            for line in stream:
                event = json.loads(line)
                if holds(event["type"], event["object"]):
                    return
        raise AssertionError(f"{collection}/{name}: it did not come to be within {HANG_SECONDS} s")


class State:
    """``process.State``."""

    def __init__(self, path: Path, directory: Path, health_url: str) -> None:
        self.path, self.directory, self.health_url = path, directory, health_url
        self.process: subprocess.Popen[bytes] | None = None
        #: What the process writes, as with ``AttachControlPlaneOutput``.
        self.output: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 — open until ``clean_up``

    def check_flag(self, flag: str) -> bool:
        done = subprocess.run([self.path, "--help"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True)
        return re.search(rf"(?m)^\s*--{flag}\b", done.stdout.decode()) is not None

    def start(self, arguments: dict[str, str]) -> None:
        command = [str(self.path), *(f"--{name}={arguments[name]}" for name in sorted(arguments))]
        self.process = subprocess.Popen(command, stdout=self.output, stderr=self.output)
        deadline = time.monotonic() + HANG_SECONDS
        while not self._is_healthy():
            if self.process.poll() is not None:
                raise RuntimeError(f"timeout waiting for process {self.path.name} to start successfully\n{self.log}")
            if time.monotonic() > deadline:
                raise RuntimeError(f"timeout waiting for process {self.path.name} to start\n{self.log}")
            time.sleep(POLL_SECONDS)

    def _is_healthy(self) -> bool:
        try:
            with urllib.request.urlopen(
                self.health_url, context=ssl._create_unverified_context(), timeout=HANG_SECONDS
            ) as answer:
                return answer.status == 200
        except OSError:
            return False

    @property
    def log(self) -> str:
        return os.pread(self.output.fileno(), 1 << 20, 0).decode()

    def stop(self) -> int:
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(HANG_SECONDS)
        shutil.rmtree(self.directory)
        return code

    def clean_up(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        self.output.close()
        shutil.rmtree(self.directory, ignore_errors=True)


class Envtest:
    """``controlplane.ControlPlane`` with its defaults; ``extra`` are flags of ``APIServer.Configure``."""

    def __init__(self, assets: Path, **extra: str) -> None:
        self.assets, self.extra = assets, extra
        self._states: list[State] = []
        self.etcd: State
        self.apiserver: State

    def start(self) -> None:
        self.start_etcd()
        self.start_apiserver()

    def start_etcd(self) -> None:
        url = f"http://127.0.0.1:{free_port()}"
        directory = Path(tempfile.mkdtemp(prefix="k8s_test_framework_"))
        self.etcd = State(self.assets / "etcd", directory, url + "/health")
        self._states.append(self.etcd)
        self.etcd_url = url
        arguments = {
            "listen-peer-urls": f"http://127.0.0.1:{free_port()}",
            "data-dir": str(directory),
            "advertise-client-urls": url,
            "listen-client-urls": url,
        }
        if self.etcd.check_flag("unsafe-no-fsync"):
            arguments["unsafe-no-fsync"] = "true"
        self.etcd.start(arguments)

    def start_apiserver(self) -> None:
        directory = Path(tempfile.mkdtemp(prefix="k8s_test_framework_"))
        port = free_port()
        self.url = f"https://127.0.0.1:{port}"
        self.apiserver = State(self.assets / "kube-apiserver", directory, self.url + "/readyz")
        self._states.append(self.apiserver)
        self._write_certificates(directory)
        arguments = {
            "service-cluster-ip-range": "10.0.0.0/24",
            "allow-privileged": "true",
            "disable-admission-plugins": "ServiceAccount",
            "cert-dir": str(directory),
            "authorization-mode": "RBAC",
            "secure-port": str(port),
            "bind-address": "127.0.0.1",
            "service-account-issuer": self.url + "/",
            "service-account-key-file": str(directory / "sa-signer.crt"),
            "service-account-signing-key-file": str(directory / "sa-signer.key"),
            "client-ca-file": str(directory / "client-cert-auth-ca.crt"),
            "etcd-servers": self.etcd_url,
            "insecure-port": "0",
        }
        if not self.apiserver.check_flag("insecure-port"):
            del arguments["insecure-port"]
        self.apiserver.start(arguments | {name.replace("_", "-"): value for name, value in self.extra.items()})

    def _write_certificates(self, directory: Path) -> None:
        ca, accounts, self.clients = TinyCA(), TinyCA(), TinyCA()
        certificate, key = ca.serving_pair()
        self.ca = pem(ca.certificate)
        for name, text in {
            "apiserver.crt": certificate,
            "apiserver.key": key,
            "sa-signer.crt": pem(accounts.certificate),
            "sa-signer.key": pem_key(accounts.key),
            "client-cert-auth-ca.crt": pem(self.clients.certificate),
        }.items():
            (directory / name).write_bytes(text)

    def client(self, name: str = "default", groups: tuple[str, ...] = ("system:masters",)) -> Client:
        """``AddUser``: a client with a certificate of its own."""
        context = ssl.create_default_context(cadata=self.ca.decode())
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"".join(self.clients.client_pair(name, list(groups))))
            file.flush()
            context.load_cert_chain(file.name)
        return Client(self.url, context)

    def stop(self) -> tuple[int, int]:
        return self.apiserver.stop(), self.etcd.stop()

    def clean_up(self) -> None:
        for state in self._states:
            state.clean_up()


class WebhookInstallOptions:
    """``WebhookInstallOptions`` of envtest: configurations whose client config is a local URL.

    Checked against controller-runtime's ``pkg/envtest/webhook.go`` (commit 06592e1837715003b81a5fbda45f081ff03835e5): the bundle is
    the serving certificate and not its issuer, and a path that begins with a slash begins with two in the URL.
    """

    def __init__(self, *, mutating: list[dict[str, Any]], validating: list[dict[str, Any]]) -> None:
        self.mutating, self.validating = mutating, validating
        self.local_serving_host, self.local_serving_port = "", 0
        self.local_serving_cert_dir: Path
        self.local_serving_ca_data = b""

    def prep_without_installing(self) -> None:
        """``PrepWithoutInstalling``: certificates, host and port, and the rewritten configurations."""
        self.setup_ca()
        self.local_serving_port, self.local_serving_host = free_port(), "127.0.0.1"
        address = f"{self.local_serving_host}:{self.local_serving_port}"
        for configuration in self.mutating + self.validating:
            for webhook in configuration["webhooks"]:
                self.update_client_config(webhook["clientConfig"], address)

    def update_client_config(self, client_config: dict[str, Any], address: str) -> None:
        """``updateClientConfig``: a Service with a path becomes a URL."""
        client_config["caBundle"] = base64.b64encode(self.local_serving_ca_data).decode()
        path = client_config.get("service", {}).get("path")
        if path is not None:
            client_config["url"] = f"https://{address}/{path}"
            del client_config["service"]

    def setup_ca(self) -> None:
        """``setupCA``: a serving certificate in ``LocalServingCertDir``, of a CA that is not kept."""
        certificate, key = TinyCA().serving_pair()
        self.local_serving_cert_dir = Path(tempfile.mkdtemp(prefix="envtest-serving-certs-"))
        for name, text in (("tls.crt", certificate), ("tls.key", key)):
            path = self.local_serving_cert_dir / name
            path.write_bytes(text)
            path.chmod(0o640)
        self.local_serving_ca_data = certificate

    def install(self, client: Client) -> None:
        """``Install``: prepare, create or update, and wait until the API server returns the configurations."""
        if not self.local_serving_ca_data:
            self.prep_without_installing()
        base = "/apis/admissionregistration.k8s.io/v1"
        by_path = {
            f"{base}/mutatingwebhookconfigurations": self.mutating,
            f"{base}/validatingwebhookconfigurations": self.validating,
        }
        for path, configurations in by_path.items():
            for configuration in configurations:
                ensure_created(client, path, configuration)
        for path, configurations in by_path.items():
            for configuration in configurations:
                client("GET", f"{path}/{configuration['metadata']['name']}")

    def clean_up(self) -> None:
        """``Cleanup``: remove the certificates."""
        shutil.rmtree(self.local_serving_cert_dir)


def ensure_created(client: Client, collection: str, obj: dict[str, Any]) -> None:
    """``ensureCreated``: create an object, or update it with the resourceVersion of the existing one."""
    path = f"{collection}/{obj['metadata']['name']}"
    try:
        existing = client("GET", path)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code != HTTPStatus.NOT_FOUND:
            raise
        client("POST", collection, obj)
    else:
        obj["metadata"]["resourceVersion"] = existing["metadata"]["resourceVersion"]
        client("PUT", path, obj)


def start_together(planes: list[Envtest]) -> None:
    """Start several at a time, as packages of ``go test`` do."""
    threads = [threading.Thread(target=plane.start) for plane in planes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
