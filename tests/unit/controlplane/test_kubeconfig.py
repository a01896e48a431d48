"""Our kubeconfig, and our entries in the user's."""

import base64
from pathlib import Path

import pytest
import yaml

from steersman.controlplane.kubeconfig import (
    Access,
    KubeconfigError,
    merge_kubeconfig,
    user_kubeconfig,
    write_kubeconfig,
)
from steersman.controlplane.pki import KeyPair


@pytest.fixture
def access(tmp_path) -> Access:
    for name in ("ca", "crt", "key"):
        (tmp_path / name).write_text(name)
    return Access("steersman", "https://127.0.0.1:1", tmp_path / "ca", KeyPair(tmp_path / "crt", tmp_path / "key"))


def test_a_kubeconfig_is_whole_in_itself(tmp_path, access):
    path = tmp_path / "config"
    write_kubeconfig(path, access)
    config = yaml.safe_load(path.read_text())
    assert config["current-context"] == "steersman"
    assert config["clusters"][0]["cluster"] == {
        "certificate-authority-data": base64.b64encode(b"ca").decode(),
        "server": "https://127.0.0.1:1",
    }
    assert config["users"][0]["user"]["client-key-data"] == base64.b64encode(b"key").decode()
    assert path.stat().st_mode & 0o777 == 0o600


OTHERS = """
apiVersion: v1
kind: Config
clusters: [{name: work, cluster: {server: https://work}}, {name: steersman, cluster: {server: https://old}}]
users: null
contexts: [{name: work, context: {cluster: work, user: me}}]
current-context: work
extensions: [{name: x}]
"""


def test_merging_keeps_what_others_wrote_and_replaces_what_was_ours(tmp_path, access):
    path = tmp_path / "config"
    path.write_text(OTHERS)
    merge_kubeconfig(path, access)
    merge_kubeconfig(path, access)
    config = yaml.safe_load(path.read_text())
    assert [entry["name"] for entry in config["clusters"]] == ["work", "steersman"]
    assert [entry["name"] for entry in config["contexts"]] == ["work", "steersman"]
    assert config["clusters"][1]["cluster"]["server"] == "https://127.0.0.1:1"
    assert (config["current-context"], config["extensions"]) == ("steersman", [{"name": "x"}])


def test_merging_makes_the_file_and_follows_links(tmp_path, access):
    real, link = tmp_path / "real", tmp_path / "kube" / "config"
    link.parent.mkdir()
    link.symlink_to(real)
    merge_kubeconfig(link, access)
    assert link.is_symlink()
    assert yaml.safe_load(real.read_text())["kind"] == "Config"


@pytest.mark.parametrize("text", ["[1]", "clusters: {a: 1}", "a: [", "\x00", "a: 2024-99-05", "a: " + "[" * 800])
def test_what_is_no_kubeconfig_is_left_alone(tmp_path, access, text):
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(KubeconfigError, match="nothing was changed"):
        merge_kubeconfig(path, access)
    assert path.read_text() == text


def test_the_users_file_is_the_one_that_kubectl_writes_to(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    assert user_kubeconfig() == tmp_path / ".kube" / "config"
    (tmp_path / "b").touch()
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/a:{tmp_path}/b:{tmp_path}/c")
    assert user_kubeconfig() == tmp_path / "b"
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/a:{tmp_path}/c")
    assert user_kubeconfig() == Path(tmp_path / "c")
