"""HTTPS of a component: certificate, client authorities and guard together."""

import logging
from contextlib import AsyncExitStack

import pytest
from cryptography import x509
from prometheus_client import CollectorRegistry
from tests.unit import serving_certificates
from tests.unit.listening import connected_to

from steersman.asynckit.clock import FakeClock, RealClock
from steersman.client import Client
from steersman.client.errors import NotFound
from steersman.controlplane import component_serving
from steersman.controlplane.component_pages import ComponentDescription
from steersman.controlplane.component_serving import SecureServing, Serving, add_secure_server
from steersman.controlplane.loopback_transport import LoopbackTransport
from steersman.controlplane.serving_certificates import make_self_signed
from steersman.runtime.manager import Manager
from steersman.runtime.serving_options import ServingOptions
from steersman.testing import InProcessAPIServer

DESCRIPTION = ComponentDescription(component="kube-scheduler", configuration_name="c", configuration={}, flags={})


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
async def client(clock):
    async with InProcessAPIServer(clock=clock) as server:
        yield Client(LoopbackTransport(server.core.client), clock=clock)


@pytest.fixture
async def stack():
    async with AsyncExitStack() as new_stack:
        yield new_stack


@pytest.fixture
def reviewed(client, monkeypatch):
    """Reviews go to the server in this process, whatever the kubeconfig."""
    monkeypatch.setattr(component_serving, "connect", lambda kubeconfig, **_: client)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    return {"authentication_kubeconfig": "k", "authorization_kubeconfig": "k"}


def make(stack, clock, **options):
    return SecureServing(
        Serving(ServingOptions(**options), DESCRIPTION), stack, registry=CollectorRegistry(), clock=clock
    )


async def publish(client, authority, *, replaces=False):
    metadata = {"name": "extension-apiserver-authentication", "namespace": "kube-system"}
    body = {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata,
        "data": {"client-ca-file": authority.certificate.decode()},
    }  # fmt: skip
    await (client.update(body) if replaces else client.create(body))


async def status(serving, path, tls):
    async with connected_to("127.0.0.1", serving.server.port, tls=tls) as (reader, writer):
        writer.write(f"GET {path} HTTP/1.1\r\n\r\n".encode())
        return int((await reader.read()).split()[1])


async def test_client_certificates_of_the_clusters_authority_are_accepted(stack, clock, client, reviewed, tmp_path):
    authority = serving_certificates.make_authority()
    await publish(client, authority)
    serving = make(stack, clock, **reviewed)
    await serving.start()
    admin = serving_certificates.client_context(tmp_path, authority, user="a", groups=("system:masters",))
    async with serving.server:
        assert await status(serving, "/statusz", admin) == 200
        assert await status(serving, "/statusz", serving_certificates.client_context(tmp_path)) == 403


async def test_authorities_that_change_are_read_again(stack, clock, client, reviewed, tmp_path):
    first, second = (serving_certificates.make_authority(name) for name in ("first", "second"))
    await publish(client, first)
    serving = make(stack, clock, **reviewed)
    await serving.start()
    admin = serving_certificates.client_context(tmp_path, second, user="a", groups=("system:masters",))
    async with serving.server:
        assert await status(serving, "/statusz", admin) == 401
        await publish(client, second, replaces=True)
        await serving._load(await serving._client_ca())
        assert await status(serving, "/statusz", admin) == 200


async def test_start_fails_without_the_config_map_unless_that_is_tolerated(stack, clock, reviewed, caplog):
    with pytest.raises(NotFound):
        await make(stack, clock, **reviewed).start()
    await make(stack, clock, **reviewed, authentication_skip_lookup=True).start()
    with caplog.at_level(logging.WARNING):
        await make(stack, clock, **reviewed, authentication_tolerate_lookup_failure=True).start()
    assert "client certificates are not accepted before extension-apiserver-authentication can be read" in caplog.text


async def test_given_authority_replaces_that_of_the_cluster(stack, clock, reviewed, tmp_path):
    authority = serving_certificates.make_authority()
    path = tmp_path / "ca.crt"
    path.write_bytes(authority.certificate)
    serving = make(stack, clock, **reviewed, client_ca_file=str(path))
    await serving.start()
    admin = serving_certificates.client_context(tmp_path, authority, user="a", groups=("system:masters",))
    async with serving.server:
        assert await status(serving, "/debug/pprof/", admin) == 200


async def test_component_serves_only_health_without_kubeconfigs(stack, clock, monkeypatch, caplog, tmp_path):
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    serving = make(stack, clock)
    assert (
        "no --authorization-kubeconfig: only the paths of --authorization-always-allow-paths are served" in caplog.text
    )
    await serving.start()
    async with serving.server:
        assert await status(serving, "/statusz", serving_certificates.client_context(tmp_path)) == 403


async def test_profiling_false_serves_no_profiles(stack, clock, reviewed):
    assert "/debug/pprof/" not in make(stack, clock, **reviewed, profiling=False).server.paths


async def test_certificate_that_cannot_be_used_is_named(stack, clock, monkeypatch, tmp_path):
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    first, second = (make_self_signed("c", "", now=clock.now()) for _ in range(2))
    (tmp_path / "a.crt").write_bytes(first.certificate)
    (tmp_path / "a.key").write_bytes(second.key)
    files = {"tls_cert_file": str(tmp_path / "a.crt"), "tls_private_key_file": str(tmp_path / "a.key")}
    with pytest.raises(ValueError, match="the serving certificate or the client authorities cannot be used"):
        await make(stack, clock, **files).start()


async def test_manager_without_a_secure_port_has_no_server(stack, client):
    manager = Manager(client)
    await add_secure_server(manager, None, stack)
    await add_secure_server(manager, Serving(ServingOptions(), DESCRIPTION), stack)
    assert manager._servers == []


async def test_server_name_chooses_the_certificate_and_its_files_are_read_again(stack, clock, monkeypatch, tmp_path):
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)

    def write(component):
        pair = make_self_signed(component, "", now=RealClock().now())
        (tmp_path / "a.crt").write_bytes(pair.certificate)
        (tmp_path / "a.key").write_bytes(pair.key)
        return x509.load_pem_x509_certificate(pair.certificate)

    async def certificate(name):
        client = serving_certificates.client_context(tmp_path)
        port = serving.server.port
        async with connected_to("127.0.0.1", port, tls=client, server_hostname=name) as (_, writer):
            return x509.load_der_x509_certificate(writer.get_extra_info("ssl_object").getpeercert(binary_form=True))

    named = write("named")
    serving = make(stack, clock, tls_sni_cert_key=(f"{tmp_path}/a.crt,{tmp_path}/a.key:*.example.com",))
    await serving.start()
    async with serving.server:
        assert await certificate("a.example.com") == named
        assert await certificate("example.com") != named
        renewed = write("renewed")
        await serving._load("")
        assert await certificate("a.example.com") == renewed
