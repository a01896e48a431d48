"""One server with files, certificates and a port."""

import asyncio
import ssl
import subprocess
import sys

import pytest
import yaml
from tests.busy_machine import HANG_SECONDS
from tests.unit import serving_certificates
from tests.unit.listening import connected_to

from steersman.apiserver.server.http1.tls import TLSFileError
from steersman.asynckit.clock import RealClock
from steersman.client import tree
from steersman.controlplane.apiserver import APIServer, external_address
from steersman.controlplane.bootstrap.master_leases import MasterLeases
from steersman.controlplane.options import APIServerOptions, OptionError
from steersman.extras import MissingPackagesError
from steersman.storage.sqlite import SqliteStore
from steersman.storage.sqlite.errors import StoreLocked


async def get(server: APIServer, path: str, *, with_certificate: bool = True, tls=None) -> bytes:
    context = tls or ssl.create_default_context(cafile=server.access.ca)
    if with_certificate and tls is None:
        context.load_cert_chain(server.access.client.certificate, server.access.client.key)
    host, _, port = server.url.removeprefix("https://").rpartition(":")
    async with connected_to(host, int(port), tls=context) as (reader, writer):
        writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        return await asyncio.wait_for(reader.read(), HANG_SECONDS)


async def test_admin_of_the_kubeconfig_is_allowed_everything(tmp_path):
    server = await APIServer.start(APIServerOptions(data_dir=tmp_path / "data", secure_port=0))
    assert (await get(server, "/readyz")).startswith(b"HTTP/1.1 200")
    assert (await get(server, "/api/v1/namespaces/kube-system")).startswith(b"HTTP/1.1 200")
    assert (await get(server, "/api/v1/namespaces/kube-system", with_certificate=False)).startswith(b"HTTP/1.1 403")
    config = yaml.safe_load(server.kubeconfig.read_text())
    assert config["clusters"][0]["cluster"]["server"] == server.url
    await server.stop()


async def test_kubelets_are_verified_with_their_authority(tmp_path):
    first = await APIServer.start(APIServerOptions(data_dir=tmp_path / "data", secure_port=0))
    await first.stop()
    pki = first.pki
    options = APIServerOptions(
        data_dir=tmp_path / "data",
        secure_port=0,
        kubelet_client_certificate=pki.admin.certificate,
        kubelet_client_key=pki.admin.key,
        kubelet_certificate_authority=pki.ca.certificate,
    )
    server = await APIServer.start(options)
    context = server._core.resources.connections.kubelet_tls
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert len(context.get_ca_certs()) == 1
    await server.stop()


async def test_changed_client_certificates_identify_the_server_without_a_restart(tmp_path, monkeypatch):
    server = await APIServer.start(APIServerOptions(ephemeral=True, secure_port=0, data_dir=tmp_path))
    renewed = []
    monkeypatch.setattr(server._core.aggregator, "renew_connections", lambda: renewed.append(True))
    kubelets, backends = server._client_certificates
    connections, pki = server._core.resources.connections, server.pki
    former = connections.kubelet_tls
    await kubelets.check()
    assert connections.kubelet_tls is former
    pki.kubelet_client.key.write_text("garbage")
    with pytest.raises(TLSFileError):
        await kubelets.check()
    assert connections.kubelet_tls is former
    for own in (pki.kubelet_client, pki.front_proxy_client):
        own.certificate.write_bytes(pki.admin.certificate.read_bytes())
        own.key.write_bytes(pki.admin.key.read_bytes())
    await kubelets.check()
    assert connections.kubelet_tls is not former
    await backends.check()
    assert renewed == [True]
    pki.front_proxy_client.key.write_text("garbage")
    with pytest.raises(TLSFileError):
        await backends.check()
    assert renewed == [True]
    await server.stop()


async def test_objects_survive_and_a_second_start_is_refused(tmp_path):
    options = APIServerOptions(data_dir=tmp_path, secure_port=0)
    server = await APIServer.start(options)
    first = (await get(server, "/api/v1/namespaces/default")).rpartition(b"\r\n\r\n")[2]
    with pytest.raises(StoreLocked, match=r"in use by process \d+"):
        await APIServer.start(options)
    await server.stop()
    server = await APIServer.start(options)
    assert (await get(server, "/api/v1/namespaces/default")).rpartition(b"\r\n\r\n")[2] == first
    await server.stop()


async def test_changed_client_authorities_are_trusted_and_published_without_a_restart(tmp_path):
    first, second = (serving_certificates.make_authority(name) for name in ("first", "second"))
    path = tmp_path / "clients.crt"
    path.write_bytes(first.certificate)
    options = APIServerOptions(ephemeral=True, secure_port=0, data_dir=tmp_path / "data", client_ca_file=path)
    server = await APIServer.start(options)
    clients = {
        authority.serial: serving_certificates.client_context(tmp_path, authority, user="a", groups=("system:masters",))
        for authority in (first, second)
    }
    codes = {first.serial: b"200", second.serial: b"401"}
    for serial, code in codes.items():
        assert (await get(server, "/api/v1/nodes", tls=clients[serial])).split()[1] == code
    path.write_bytes(second.certificate)
    await server._certificates.reload()
    for serial, code in zip(clients, reversed(codes.values()), strict=True):
        assert (await get(server, "/api/v1/nodes", tls=clients[serial])).split()[1] == code
    published = await server._core.bootstrap.client.get(
        tree("v1", "ConfigMap"), "extension-apiserver-authentication", namespace="kube-system"
    )
    assert second.certificate.decode().strip() in published["data"]["client-ca-file"]
    await server.stop()


async def test_stop_rejects_new_requests_until_those_in_flight_have_ended(tmp_path):
    options = APIServerOptions(
        ephemeral=True, secure_port=0, data_dir=tmp_path, shutdown_send_retry_after=True, drain_seconds=HANG_SECONDS
    )
    server = await APIServer.start(options)
    context = ssl.create_default_context(cafile=server.access.ca)
    context.load_cert_chain(server.access.client.certificate, server.access.client.key)
    async with connected_to("127.0.0.1", int(server.url.rpartition(":")[2]), tls=context) as (reader, writer):
        head = "POST /api/v1/namespaces HTTP/1.1", "Host: x", "Content-Type: application/json", "Content-Length: 1"
        writer.write("\r\n".join([*head, "Expect: 100-continue", "Connection: close", "", ""]).encode())
        assert b"100 Continue" in await reader.readuntil(b"\r\n\r\n")  # the endpoint reads the body
        stopping = asyncio.create_task(server.stop())
        async with asyncio.timeout(HANG_SECONDS):
            while not (answer := await get(server, "/version")).startswith(b"HTTP/1.1 429"):
                pass
        assert b"\r\nretry-after: 5\r\n" in answer
        assert not stopping.done()
        writer.write(b"x")
        assert (await reader.read()).startswith(b"HTTP/1.1 400")
    await stopping


async def test_stop_ends_watches_in_their_grace_period_after_the_port_is_closed(tmp_path):
    options = APIServerOptions(
        ephemeral=True, secure_port=0, data_dir=tmp_path, shutdown_watch_termination_grace_period_seconds=HANG_SECONDS
    )
    server = await APIServer.start(options)
    watch = asyncio.create_task(get(server, "/api/v1/namespaces?watch=1&allowWatchBookmarks=true"))
    async with asyncio.timeout(HANG_SECONDS):
        while not len(server._core.app._streams):  # noqa: ASYNC110 — there is no event
            await asyncio.sleep(0.01)  # noqa: TID251
    await server.stop()
    assert (await watch).endswith(b"\r\n0\r\n\r\n")


async def test_ephemeral_server_leaves_no_files():
    server = await APIServer.start(APIServerOptions(ephemeral=True, secure_port=0))
    directory = server.kubeconfig.parent
    assert directory.is_dir()
    await server.stop()
    assert not directory.exists()


async def test_port_in_use_is_reported(tmp_path):
    server = await APIServer.start(APIServerOptions(ephemeral=True, secure_port=0))
    port = int(server.url.rpartition(":")[2])
    with pytest.raises(OptionError, match=f"port {port}: address already in use; --port=0 takes any free one"):
        await APIServer.start(APIServerOptions(ephemeral=True, secure_port=port, data_dir=tmp_path))
    await server.stop()


async def test_certificate_requires_its_key(tmp_path):
    options = APIServerOptions(ephemeral=True, secure_port=0, data_dir=tmp_path, tls_cert_file=tmp_path / "c")
    with pytest.raises(OptionError, match="need each other"):
        await APIServer.start(options)


async def test_server_listens_on_ipv6(tmp_path):
    options = APIServerOptions(ephemeral=True, secure_port=0, data_dir=tmp_path, bind_address="::1")
    server = await APIServer.start(options)
    assert server.url.startswith("https://[::1]:")
    await server.stop()


async def test_start_rejects_an_advertise_address_of_another_family_than_services(tmp_path):
    options = APIServerOptions(data_dir=tmp_path, ephemeral=True, secure_port=0, advertise_address="2001:db8::1")
    with pytest.raises(OptionError, match="must match public address family"):
        await APIServer.start(options)


async def test_stop_withdraws_the_endpoint_and_start_publishes_the_new_port(tmp_path):
    options = APIServerOptions(data_dir=tmp_path, secure_port=0, advertise_address="192.0.2.10")
    for _ in range(2):
        server = await APIServer.start(options)
        bootstrap = server._core.bootstrap
        obj = await bootstrap.client.get(tree("v1", "Endpoints"), "kubernetes", namespace="default")
        assert f":{obj['subsets'][0]['ports'][0]['port']}" in server.url
        await server.stop()
        store = await SqliteStore.open(tmp_path / "state.db", clock=RealClock())
        assert await MasterLeases(store).addresses() == []
        await store.close()


async def test_services_may_have_both_families_the_servers_own_has_that_of_its_address(tmp_path):
    ranges = "fd00::/112,10.0.0.0/24"
    options = APIServerOptions(
        data_dir=tmp_path,
        ephemeral=True,
        secure_port=0,
        advertise_address="2001:db8::1",
        service_cluster_ip_range=ranges,
    )
    server = await APIServer.start(options)
    client = server._core.bootstrap.client
    service = await client.get(tree("v1", "Service"), "kubernetes", namespace="default")
    assert (service["spec"]["clusterIPs"], service["spec"]["ipFamilies"]) == (["fd00::1"], ["IPv6"])
    obj = await client.get(tree("discovery.k8s.io/v1", "EndpointSlice"), "kubernetes", namespace="default")
    assert (obj["addressType"], obj["endpoints"][0]["addresses"]) == ("IPv6", ["2001:db8::1"])
    cidr = await client.get(tree("networking.k8s.io/v1", "ServiceCIDR"), "kubernetes")
    assert cidr["spec"]["cidrs"] == ranges.split(",")
    await server.stop()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "127.0.0.1:6443"),
        ({"advertise_address": "2001:db8::1"}, "[2001:db8::1]:6443"),
        ({"advertise_address": "192.0.2.1", "external_hostname": "api.example.com"}, "api.example.com:6443"),
        ({"external_hostname": "api.example.com:443"}, "api.example.com:443"),
        ({"external_hostname": "2001:db8::1"}, "[2001:db8::1]:6443"),
        ({"external_hostname": "[2001:db8::1]:443"}, "[2001:db8::1]:443"),
    ],
)
def test_external_address(options, expected):
    assert external_address(APIServerOptions(**options), 6443) == expected


async def test_http2_is_offered_if_it_is_asked_for(tmp_path):
    for disabled, selected in ((True, "http/1.1"), (False, "h2")):
        options = APIServerOptions(
            ephemeral=True, secure_port=0, data_dir=tmp_path, disable_http2_serving=disabled, goaway_chance=0.02
        )
        server = await APIServer.start(options)
        context = ssl.create_default_context(cafile=server.access.ca)
        context.set_alpn_protocols(["h2", "http/1.1"])
        async with connected_to("127.0.0.1", int(server.url.rpartition(":")[2]), tls=context) as (_, writer):
            assert writer.get_extra_info("ssl_object").selected_alpn_protocol() == selected
        await server.stop(grace_seconds=0)


async def test_http2_without_its_package_is_refused_before_anything_is_started(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h2.connection", None)
    options = APIServerOptions(ephemeral=True, secure_port=0, data_dir=tmp_path, disable_http2_serving=False)
    with pytest.raises(MissingPackagesError, match=r"--disable-http2-serving=false needs h2, .*\[http2\]"):
        await APIServer.start(options)


def test_http2_is_not_imported_unless_it_is_asked_for():
    code = (
        "import sys, steersman.controlplane.apiserver; print([name for name in ('h2', 'hpack') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
