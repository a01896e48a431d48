"""Selection of the cluster and its credentials."""

import pytest

from steersman.client import connect
from steersman.client.connecting import find_access
from steersman.client.credentials import ConfigError, Identity

CONFIG = """
current-context: a
contexts: [{name: a, context: {cluster: c, namespace: n}}, {name: b, context: {cluster: d}}]
clusters: [{name: c, cluster: {server: "http://c:1"}}, {name: d, cluster: {server: "http://d:1"}}]
"""


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / ".kube" / "config"
    path.parent.mkdir()
    path.write_text(CONFIG)
    return path


async def test_find_access_defaults_to_the_home_kubeconfig(path):
    async with connect() as client:
        assert (client._transport.host, client.default_namespace) == ("c:1", "n")


async def test_connect_accepts_context_and_options(path):
    async with connect(path, context="b", default_namespace="mine") as client:
        assert (client._transport.host, client.default_namespace) == ("d:1", "mine")


async def test_find_access_prefers_the_service_account_in_a_pod(path, monkeypatch):
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "h")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "1")
    with pytest.raises(ConfigError, match="in-cluster"):
        connect()
    monkeypatch.setenv("KUBECONFIG", str(path))
    assert connect()._transport.host == "c:1"


async def test_find_access_requires_a_pod_without_kubeconfig(path):
    path.unlink()
    with pytest.raises(ConfigError, match="in-cluster"):
        connect()


@pytest.mark.parametrize(
    ("server", "address"), [("https://e:2/", "https://e:2"), ("e:2", "https://e:2"), ("http://e", "http://e")]
)
def test_server_replaces_the_address_of_the_file(path, server, address):
    assert find_access(path, server=server).server == address
    assert find_access(path, server=server).namespace == "n"


async def test_server_without_a_file_is_used_without_credentials(path):
    access = find_access(server="e:2")
    assert access.server == "http://e:2"
    assert await access.credentials.identity() == Identity()
