"""Cluster access from kubeconfig files and service accounts."""

import base64
import json
import os

import pytest
import yaml

from steersman.asynckit.clock import FakeClock
from steersman.client.credentials import ConfigError, ExecCredentials, Identity, StaticCredentials, TokenFile
from steersman.client.kubeconfig import in_cluster, kubeconfig_paths, load_kubeconfig

CA = base64.b64encode(b"the ca").decode()


def config(*, user=None, cluster=None, context=None, **top):
    return {
        "current-context": "main",
        "contexts": [{"name": "main", "context": {"cluster": "c", "user": "u", **(context or {})}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://h:6443/", **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {}}],
        **top,
    }


@pytest.fixture
def write(tmp_path):
    def write(tree, name="config"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(tree if isinstance(tree, str) else yaml.safe_dump(tree))
        return path

    return write


async def identity(access):
    return await access.credentials.identity()


async def test_load_kubeconfig_uses_the_current_context(write):
    path = write(config(user={"token": "t"}, cluster={"certificate-authority-data": CA}, context={"namespace": "n"}))
    access = load_kubeconfig(path)
    assert (access.server, access.ca, access.verify, access.namespace) == ("https://h:6443", b"the ca", True, "n")
    assert (await identity(access)).headers == (("authorization", "Bearer t"),)


async def test_load_kubeconfig_uses_a_given_context(write):
    tree = config()
    tree["contexts"].append({"name": "other", "context": {"cluster": "c2"}})
    tree["clusters"].append({"name": "c2", "cluster": {"server": "http://two", "insecure-skip-tls-verify": True}})
    access = load_kubeconfig(write(tree), context="other")
    assert (access.server, access.verify, access.namespace) == ("http://two", False, "default")
    assert await identity(access) == Identity()


async def test_load_kubeconfig_resolves_relative_files(write):
    write("ca file", "deep/ca.pem")
    write("cert", "deep/c.pem")
    write("key", "deep/k.pem")
    user = {"client-certificate": "c.pem", "client-key": "k.pem"}
    access = load_kubeconfig(write(config(user=user, cluster={"certificate-authority": "ca.pem"}), "deep/config"))
    assert access.ca == b"ca file"
    assert await identity(access) == Identity((), b"cert", b"key")


async def test_load_kubeconfig_prefers_data_to_files(write):
    cluster = {"certificate-authority": "missing.pem", "certificate-authority-data": CA}
    assert load_kubeconfig(write(config(cluster=cluster))).ca == b"the ca"


async def test_load_kubeconfig_prefers_the_first_of_several_files(write, monkeypatch):
    first = write({"current-context": "main", "users": [{"name": "u", "user": {"token": "first"}}]}, "one/config")
    second = write(config(user={"token": "second"}, **{"current-context": "gone"}), "two/config")
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join([str(first), "/nowhere/config", str(second)]))
    access = load_kubeconfig()
    assert (access.server, (await identity(access)).headers[0][1]) == ("https://h:6443", "Bearer first")


def test_kubeconfig_paths_default_to_the_home_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert kubeconfig_paths({}) == [tmp_path / ".kube" / "config"]
    monkeypatch.delenv("KUBECONFIG", raising=False)
    with pytest.raises(ConfigError, match="there is no kubeconfig"):
        load_kubeconfig()


async def test_username_and_password_are_basic_authentication(write):
    path = write(config(user={"username": "me", "password": "secret"}))
    encoded = base64.b64encode(b"me:secret").decode()
    assert (await identity(load_kubeconfig(path))).headers == (("authorization", f"Basic {encoded}"),)


async def test_token_file_is_preferred_to_a_token(write):
    write("from file", "token")
    access = load_kubeconfig(write(config(user={"tokenFile": "token", "token": "t"})), clock=FakeClock())
    assert isinstance(access.credentials, TokenFile)
    assert (await identity(access)).headers == (("authorization", "Bearer from file"),)


def test_exec_plugin_provides_credentials(write):
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "x"}}
    assert isinstance(load_kubeconfig(write(config(user=user))).credentials, ExecCredentials)


async def test_impersonation_sets_headers(write):
    user = {"as": "x", "as-uid": "7", "as-groups": ["g", "h"], "as-user-extra": {"Scope/a": ["1", "2"]}}
    assert (await identity(load_kubeconfig(write(config(user=user))))).headers == (
        ("impersonate-user", "x"),
        ("impersonate-uid", "7"),
        ("impersonate-group", "g"),
        ("impersonate-group", "h"),
        ("impersonate-extra-scope%2fa", "1"),
        ("impersonate-extra-scope%2fa", "2"),
    )


def test_proxy_server_name_and_compression_are_read(write):
    cluster = {"proxy-url": "http://p:1", "tls-server-name": "s", "disable-compression": True}
    access = load_kubeconfig(write(config(cluster=cluster)))
    assert (access.proxy_url, access.tls_server_name, access.disable_compression) == ("http://p:1", "s", True)


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ("a: [", "cannot be read"),
        ("- a", "is no kubeconfig"),
        ({"kind": "Pod"}, "is no kubeconfig"),
        ({}, "there is no current-context, and none was asked for"),
        ({"current-context": "x"}, "there is no context 'x' \\(current-context\\); known: none"),
        (config(context={"cluster": "z"}), "there is no cluster 'z' \\(context 'main'\\); known: c"),
        (config(context={"user": "z"}), "there is no user 'z' \\(context 'main'\\); known: u"),
        (config(clusters={}), None),
        (config(clusters={"a": 1}), "clusters must be a list"),
        (config(users=[{"user": {}}]), "users\\[0\\] has no name"),
        (config(users=[{"name": "u", "user": 5}]), "users\\[0\\].user must be an object"),
        (config(cluster={"server": "h:6443"}), "server must be a URL, and is 'h:6443'"),
        (config(cluster={"certificate-authority-data": "%"}), "certificate-authority-data is no base64"),
        (config(cluster={"certificate-authority": "nowhere"}), "unable to read certificate-authority nowhere"),
        (
            config(cluster={"certificate-authority-data": CA, "insecure-skip-tls-verify": True}),
            "root certificates file with the insecure flag is not allowed",
        ),
        (config(user={"client-certificate-data": CA}), "a client certificate needs its key"),
        (config(user={"auth-provider": {"name": "gcp"}}), "auth-provider is no longer part of Kubernetes"),
        (config(user={"exec": "aws"}), "exec must be an object"),
        (config(user={"as-groups": ["g"]}), "without impersonating a user"),
        (config(user={"as": "x", "as-groups": "g"}), "as-groups must be a list"),
    ],
)
def test_load_kubeconfig_rejects_malformed_files(write, tree, message):
    with pytest.raises(ConfigError, match=message):
        load_kubeconfig(write(tree))


def test_load_kubeconfig_reads_json_without_the_yaml_parser(write, monkeypatch):
    tree = config(user={"token": "t"}, context={"namespace": "né"})
    expected = load_kubeconfig(write(tree, "yaml"))
    monkeypatch.setattr(yaml, "safe_load", lambda text: pytest.fail(f"parsed as YAML: {text}"))
    assert load_kubeconfig(write(json.dumps(tree), "json")).namespace == expected.namespace == "né"


def test_load_kubeconfig_reads_yaml_that_begins_with_a_brace(write):
    flow_style = yaml.safe_dump(config(context={"namespace": "n"}), default_flow_style=True)
    assert flow_style.startswith("{clusters: ")
    assert load_kubeconfig(write(flow_style)).namespace == "n"


def test_load_kubeconfig_rejects_a_missing_file(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read"):
        load_kubeconfig(tmp_path / "none")


ENVIRONMENT = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


async def test_in_cluster_reads_the_service_account(write):
    folder = write("t", "token").parent
    write("ca", "ca.crt")
    write("n\n", "namespace")
    access = in_cluster(folder=folder, environment=ENVIRONMENT)
    assert (access.server, access.ca, access.namespace) == ("https://10.0.0.1:443", b"ca", "n")
    assert (await identity(access)).headers == (("authorization", "Bearer t"),)
    six = in_cluster(folder=folder, environment={**ENVIRONMENT, "KUBERNETES_SERVICE_HOST": "fd00::1"})
    assert six.server == "https://[fd00::1]:443"


def test_in_cluster_raises_outside_of_a_pod(tmp_path):
    with pytest.raises(ConfigError, match="KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined"):
        in_cluster(environment={})
    with pytest.raises(ConfigError, match=r"unable to load in-cluster configuration: .*ca\.crt"):
        in_cluster(folder=tmp_path, environment=ENVIRONMENT)


def test_context_without_user_has_no_credentials(write):
    assert isinstance(load_kubeconfig(write(config(context={"user": ""}))).credentials, StaticCredentials)


_CONTEXT = "\ncontexts: [{name: a, context: {cluster: a}}]\ncurrent-context: a"


@pytest.mark.parametrize(
    "text",
    [
        "a: " + "[" * 800,
        "current-context: 2024-99-05",
        "clusters: [{name: a, cluster: {server: 'https://a', certificate-authority-data: ä}}]" + _CONTEXT,
        'clusters: [{name: a, cluster: {server: "https://a", certificate-authority: "a\\0b"}}]' + _CONTEXT,
    ],
    ids=["nested", "date", "base64", "null byte"],
)
def test_load_kubeconfig_reports_malformed_values_as_config_error(tmp_path, text):
    path = tmp_path / "config"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"cannot be read|no base64|unable to read"):
        load_kubeconfig(path)
