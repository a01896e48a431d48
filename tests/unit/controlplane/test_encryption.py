"""Encryption at rest of one API server: files, reloads, health, and what clients see."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from pathlib import Path
from uuid import uuid4

import msgspec
import pytest
import yaml
from tests.unit.storage.encryption.plugin import Plugin, serve

from steersman.apimachinery.label_sets import hash_label
from steersman.apiserver.health.checks import Unhealthy
from steersman.asynckit.clock import FakeClock, RealClock
from steersman.controlplane.apiserver import APIServer
from steersman.controlplane.encryption import EncryptionAtRest
from steersman.controlplane.etcd import open_etcd_store
from steersman.controlplane.file_follower import RELOAD_SECONDS
from steersman.controlplane.options import APIServerOptions, OptionError
from steersman.schema.protobuf import decode_body
from steersman.storage.encryption.ciphers import AesGcm
from steersman.storage.memory import MemoryStore
from steersman.storage.store import Put
from steersman.testing import InProcessAPIServer

KEY = "/registry/secrets/default/a"
SECRETS = "/api/v1/namespaces/default/secrets"


def keys(*names):
    return {"aesgcm": {"keys": [{"name": n, "secret": base64.b64encode(n.encode() * 32).decode()} for n in names]}}


def kms(name="vault"):
    return {"kms": {"apiVersion": "v2", "name": name, "endpoint": "unix:///run/kms.sock"}}


def write(path, *providers):
    rule = {"resources": ["secrets", "gadgets.example.com"], "providers": list(providers)}
    tree = {"kind": "EncryptionConfiguration", "apiVersion": "apiserver.config.k8s.io/v1", "resources": [rule]}
    path.write_text(yaml.safe_dump(tree))
    return path


@pytest.fixture
def path(tmp_path):
    return tmp_path / "encryption.yaml"


async def opened(path, clock, *, reloads=True, plugin=None):
    return await EncryptionAtRest.open(path, reloads=reloads, clock=clock, open_kms=lambda _: plugin or Plugin())


class Running:
    """An API server with encryption over a store in memory."""

    def __init__(self, encryption, inner):
        self.encryption = encryption
        self.server = InProcessAPIServer(options=APIServerOptions(ephemeral=True), store=encryption.wrap(inner))

    async def __aenter__(self):
        await self.server.__aenter__()
        self.encryption.on_key_change = self.server.core.resources.registry.mark_stale
        return self.server

    async def __aexit__(self, *failure):
        await self.server.__aexit__(*failure)
        await self.encryption.close()


async def post(server, **data):
    body = {"metadata": {"name": "a"}, "stringData": data}
    answer = await server.request("POST", SECRETS, body=json.dumps(body).encode())
    assert answer.code == 201


async def test_clients_read_decrypted_values(path):
    inner = MemoryStore(clock=RealClock())
    async with Running(await opened(write(path, keys("a"), {"identity": {}}), RealClock()), inner) as server:
        await post(server, password="hunter2")
        stored = (await inner.get(KEY)).value
        read = (await server.request("GET", f"{SECRETS}/a")).json()
        assert stored.startswith(b"k8s:enc:aesgcm:v1:a:")
        assert base64.b64encode(b"hunter2") not in stored
        assert read["data"] == {"password": base64.b64encode(b"hunter2").decode()}


async def test_value_that_cannot_be_decrypted_is_a_storage_error_for_that_object(path):
    inner = MemoryStore(clock=RealClock())
    await inner.txn([Put(KEY, b"k8s:enc:aesgcm:v1:lost:xxxxxxxxxxxxxxxxxxxxxxxxxxx")])
    async with Running(await opened(write(path, keys("a"), {"identity": {}}), RealClock()), inner) as server:
        answer = await server.request("GET", f"{SECRETS}/a")
        listed = await server.request("GET", SECRETS)
        other = await server.request("GET", f"{SECRETS}/b")
    assert answer.code == 500
    assert "StorageError: corrupt object" in answer.json()["message"]
    assert listed.json()["reason"] == "StorageReadError"
    assert other.code == 404


async def test_configuration_of_the_storage_page_encrypts_secrets(path):
    page = (Path(__file__).parents[3] / "docs" / "storage.md").read_text()
    (text,) = re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    path.write_text(text.replace("<base64 of 32 bytes>", base64.b64encode(bytes(32)).decode()))
    encryption = await opened(path, FakeClock(), reloads=False)
    inner = MemoryStore(clock=FakeClock())
    store = encryption.wrap(inner)
    await store.txn(
        [Put(KEY, b"{}"), Put("/registry/deployments/default/a", b"{}"), Put("/registry/pods/default/a", b"{}")]
    )
    prefixes = {kv.key.split("/")[2]: kv.value[:8] for kv in (await inner.range("/registry/")).kvs}
    assert prefixes == {"secrets": b"k8s:enc:", "deployments": b"k8s:enc:", "pods": b"{}"}
    await store.close()
    await encryption.close()


async def test_reload_with_a_new_key_lets_replace_rewrite_secrets(path):
    inner = MemoryStore(clock=RealClock())
    encryption = await opened(write(path, keys("a")), RealClock())
    async with Running(encryption, inner) as server:
        await post(server, password="x")
        await server.request("GET", f"{SECRETS}/a")
        write(path, keys("b", "a"))
        await encryption.reload.poll()
        read = json.dumps((await server.request("GET", f"{SECRETS}/a")).json()).encode()
        assert (await inner.get(KEY)).value.startswith(b"k8s:enc:aesgcm:v1:a:")
        assert (await server.request("PUT", f"{SECRETS}/a", body=read)).code == 200
        assert (await inner.get(KEY)).value.startswith(b"k8s:enc:aesgcm:v1:b:")


async def test_file_is_reloaded_when_it_changes(path):
    clock = FakeClock()
    encryption = await opened(write(path, keys("a")), clock)
    store = encryption.wrap(MemoryStore(clock=clock))
    changed = asyncio.Event()
    encryption.on_key_change = changed.set
    write(path, keys("b", "a"))
    await clock.advance(RELOAD_SECONDS)
    await changed.wait()
    await store.txn([Put(KEY, b"x")])
    name = "apiserver_encryption_config_controller_automatic_reloads_total"
    (family,) = [family for family in await encryption.collect() if family.name == name]
    assert [(dict(labels)["status"], value) for _, labels, value in family.samples] == [("success", 1)]
    name = "apiserver_encryption_config_controller_last_config_info"
    (family,) = [family for family in await encryption.collect() if family.name == name]
    assert [dict(labels)["hash"] for _, labels, _ in family.samples] == [hash_label(path.read_bytes())]
    await store.close()
    await encryption.close()


async def test_invalid_file_leaves_the_last_configuration_in_use(path):
    encryption = await opened(write(path, keys("a")), FakeClock())
    path.write_text("kind: Pod")
    for _ in range(2):
        await encryption.reload.poll()
    name = "apiserver_encryption_config_controller_automatic_reloads_total"
    (family,) = [family for family in await encryption.collect() if family.name == name]
    assert [(dict(labels)["status"], value) for _, labels, value in family.samples] == [("failure", 2)]
    store = encryption.wrap(MemoryStore(clock=FakeClock()))
    await store.txn([Put(KEY, b"x")])
    assert (await store.get(KEY)).value == b"x"
    await store.close()
    await encryption.close()


async def test_health_check_fails_with_the_plugin(path):
    clock, plugin = FakeClock(), Plugin()
    plugin.is_down = True
    encryption = await opened(write(path, kms()), clock, reloads=False, plugin=plugin)
    assert encryption.has_check
    with pytest.raises(Unhealthy, match="kms-provider-0: failed to perform status section"):
        await encryption.check()
    plugin.is_down = False
    await clock.advance(4)
    await encryption.check()
    await encryption.close()


async def test_no_health_check_without_plugins_and_reloads(path):
    encryption = await opened(write(path, keys("a")), FakeClock(), reloads=False)
    assert not encryption.has_check
    await encryption.close()


async def test_plugins_are_probed_again_until_they_respond(path):
    clock, plugin = FakeClock(), Plugin()
    plugin.is_down = True
    encryption = await opened(write(path, kms()), clock, reloads=False, plugin=plugin)
    plugin.is_down = False
    await clock.advance(11)
    await plugin.encrypted.wait()
    await encryption.close()
    assert plugin.calls[-1] == "close"


async def test_plugin_on_a_socket_encrypts_across_restarts(path, tmp_path):
    pytest.importorskip("grpc", reason="the dev extra is not installed")
    socket = tmp_path / "kms.sock"
    provider = {"kms": {"apiVersion": "v2", "name": "vault", "endpoint": f"unix://{socket}", "timeout": "10s"}}
    plugin = await serve(Plugin(), str(socket))
    inner = MemoryStore(clock=FakeClock())
    for _ in range(2):  # the second has to ask the plugin for the first one's data key
        encryption = await EncryptionAtRest.open(write(path, provider), reloads=False, clock=FakeClock())
        store = encryption.wrap(inner)
        if await store.get(KEY) is None:
            await store.txn([Put(KEY, b"secret")])
        assert (await store.get(KEY)).value == b"secret"
        assert (await inner.get(KEY)).value.startswith(b"k8s:enc:kms:v2:vault:")
        await encryption.close()
    await plugin.stop(None)
    await inner.close()


async def test_api_server_encrypts_its_data_directory(path, tmp_path):
    options = APIServerOptions(
        data_dir=tmp_path / "data", secure_port=0, encryption_provider_config=write(path, keys("a"))
    )
    server = await APIServer.start(options)
    body = json.dumps({"metadata": {"name": "a"}, "stringData": {"password": "hunter2"}}).encode()
    assert (await server._core.client.request("POST", SECRETS, body=body)).code == 201
    await server.stop(grace_seconds=0)
    assert base64.b64encode(b"hunter2") not in (tmp_path / "data" / "state.db").read_bytes()
    without = await APIServer.start(msgspec.structs.replace(options, encryption_provider_config=None))
    assert (await without._core.client.request("GET", f"{SECRETS}/a")).code == 500
    await without.stop(grace_seconds=0)
    again = await APIServer.start(options)
    read = (await again._core.client.request("GET", f"{SECRETS}/a")).json()
    await again.stop(grace_seconds=0)
    assert base64.b64decode(read["data"]["password"]) == b"hunter2"


async def test_api_server_encrypts_in_etcd_with_the_path_of_the_key(path, tmp_path, etcd_url):
    prefix = f"/{uuid4().hex}"
    options = APIServerOptions(
        data_dir=tmp_path / "data",
        secure_port=0,
        etcd_servers=(etcd_url,),
        etcd_prefix=prefix,
        encryption_provider_config=write(path, keys("a")),
    )
    server = await APIServer.start(options)
    body = json.dumps({"metadata": {"name": "a"}, "stringData": {"password": "hunter2"}}).encode()
    assert (await server._core.client.request("POST", SECRETS, body=body)).code == 201
    await server.stop(grace_seconds=0)
    store = await open_etcd_store(options, clock=RealClock())
    value = (await store.get(KEY)).value
    await store.close()
    head = b"k8s:enc:aesgcm:v1:a:"
    plain, _ = AesGcm(b"a" * 32).decrypt(value.removeprefix(head), f"{prefix}/secrets/default/a".encode())
    assert value.startswith(head)
    assert decode_body(plain)["data"] == {"password": base64.b64encode(b"hunter2").decode()}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "--encryption-provider-config: cannot read"),
        ("", "is empty"),
        ("kind: Pod", 'no kind "Pod" is registered'),
    ],
)
async def test_unusable_file_is_an_option_error(path, text, message):
    if text is not None:
        path.write_text(text)
    with pytest.raises(OptionError) as raised:
        await opened(path, FakeClock())
    assert message in str(raised.value)
