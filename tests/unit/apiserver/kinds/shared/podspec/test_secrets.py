"""Secret references of Pods."""

from __future__ import annotations

import pytest

from steersman.apiserver.kinds.shared.podspec.secrets import secret_names


@pytest.mark.parametrize("kind", ["containers", "initContainers", "ephemeralContainers"])
@pytest.mark.parametrize(
    "part",
    [
        {"envFrom": [{"secretRef": {"name": "s"}}, {"configMapRef": {"name": "no"}}]},
        {"env": [{"name": "a"}, {"name": "e", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]},
    ],
)
def test_secret_names_of_container_env(kind: str, part: dict):
    assert list(secret_names({kind: [{"name": "c", **part}]})) == ["s"]


@pytest.mark.parametrize(
    "source",
    [
        {"secret": {"secretName": "s"}},
        {"azureFile": {"secretName": "s"}},
        {"projected": {"sources": [{"secret": {"name": "s"}}, {"configMap": {"name": "no"}}]}},
        {"csi": {"driver": "d", "nodePublishSecretRef": {"name": "s"}}},
        {"cephfs": {"secretRef": {"name": "s"}}},
        {"cinder": {"secretRef": {"name": "s"}}},
        {"flexVolume": {"secretRef": {"name": "s"}}},
        {"rbd": {"secretRef": {"name": "s"}}},
        {"scaleIO": {"secretRef": {"name": "s"}}},
        {"iscsi": {"secretRef": {"name": "s"}}},
        {"storageos": {"secretRef": {"name": "s"}}},
    ],
)
def test_secret_names_of_volumes(source: dict):
    assert list(secret_names({"volumes": [{"name": "v", **source}, {"name": "e", "emptyDir": {}}]})) == ["s"]


def test_secret_names_of_pull_secrets():
    assert list(secret_names({"imagePullSecrets": [{"name": "a"}, {"name": "b"}]})) == ["a", "b"]


def test_secret_names_is_empty_without_references():
    assert list(secret_names({"containers": [{"name": "c"}], "volumes": [{"name": "v", "cephfs": {}}]})) == []
