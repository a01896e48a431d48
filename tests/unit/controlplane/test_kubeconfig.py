"""Our kubeconfig, and our entries in the user's."""

import base64
from pathlib import Path

import pytest
import yaml

from steersman.controlplane.kubeconfig import (
    Access,
    user_kubeconfig,
    write_kubeconfig,
)
from steersman.controlplane.pki import KeyPair


@pytest.fixture
def access(tmp_path) -> Access:
    for name in ("ca", "crt", "key"):
        (tmp_path / name).write_text(name)
    return Access("steersman", "https://127.0.0.1:1", tmp_path / "ca", KeyPair(tmp_path / "crt", tmp_path / "key"))


def test_kubeconfig_is_self_contained(tmp_path, access):
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


def test_user_kubeconfig_is_the_file_that_kubectl_writes(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    assert user_kubeconfig() == tmp_path / ".kube" / "config"
    (tmp_path / "b").touch()
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/a:{tmp_path}/b:{tmp_path}/c")
    assert user_kubeconfig() == tmp_path / "b"
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/a:{tmp_path}/c")
    assert user_kubeconfig() == Path(tmp_path / "c")
