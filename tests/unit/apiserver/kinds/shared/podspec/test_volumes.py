"""Defaults of volumes."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import copy

from steersman.apiserver.kinds.shared.podspec.volumes import (
    default_claim_spec,
    default_field_ref,
    default_persistent_source,
    default_resource_field_ref,
    default_volume,
)

CASES = [
    ({}, {"emptyDir": {}}),
    ({"secret": {"secretName": "s"}}, {"secret": {"secretName": "s", "defaultMode": 0o644}}),
    ({"secret": {"defaultMode": 0}}, {"secret": {"defaultMode": 0}}),
    ({"configMap": {"name": "c"}}, {"configMap": {"name": "c", "defaultMode": 0o644}}),
    (
        {"downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.name"}}]}},
        {
            "downwardAPI": {
                "items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.name", "apiVersion": "v1"}}],
                "defaultMode": 0o644,
            }
        },
    ),
    (
        {"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
        {
            "projected": {
                "sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}}],
                "defaultMode": 0o644,
            }
        },
    ),
    ({"hostPath": {"path": "/"}}, {"hostPath": {"path": "/", "type": ""}}),
    ({"iscsi": {}}, {"iscsi": {"iscsiInterface": "default"}}),
    ({"rbd": {"image": "i"}}, {"rbd": {"image": "i", "pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"}}),
    ({"scaleIO": {}}, {"scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"}}),
    (
        {"azureDisk": {}},
        {"azureDisk": {"cachingMode": "ReadWrite", "kind": "Shared", "fsType": "ext4", "readOnly": False}},
    ),
    ({"image": {"reference": "a:1"}}, {"image": {"reference": "a:1", "pullPolicy": "IfNotPresent"}}),
    ({"image": {"reference": "a"}}, {"image": {"reference": "a", "pullPolicy": "Always"}}),
    (
        {"ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
        {"ephemeral": {"volumeClaimTemplate": {"metadata": {}, "spec": {"volumeMode": "Filesystem", "resources": {}}}}},
    ),
    ({"persistentVolumeClaim": {"claimName": "c"}}, {"persistentVolumeClaim": {"claimName": "c"}}),
]


@pytest.mark.parametrize(("source", "filled"), CASES)
def test_default_volume_sets_fields_by_source(source: dict, filled: dict):
    volume = {"name": "v", **copy(source)}
    default_volume(volume)
    assert volume == {"name": "v", **filled}


@pytest.mark.parametrize(("_", "filled"), CASES)
def test_default_volume_is_idempotent(_: dict, filled: dict):
    volume = {"name": "v", **copy(filled)}
    default_volume(volume)
    assert volume == {"name": "v", **filled}


def test_default_persistent_source_shares_defaults():
    spec = {"hostPath": {"path": "/"}, "nfs": {"server": "s"}}
    default_persistent_source(spec)
    assert spec == {"hostPath": {"path": "/", "type": ""}, "nfs": {"server": "s"}}


def test_default_claim_spec_sets_volume_mode():
    spec = {"resources": {"requests": {"storage": "1.5"}}}
    default_claim_spec(spec)
    assert spec == {"resources": {"requests": {"storage": "1500m"}}, "volumeMode": "Filesystem"}


def test_default_references_set_version_and_divisor():
    field, resource = {"fieldPath": "a"}, {"resource": "limits.cpu"}
    default_field_ref(field)
    default_resource_field_ref(resource)
    assert (field["apiVersion"], resource["divisor"]) == ("v1", "0")


def test_default_references_keep_given_version_and_divisor():
    field, resource = {"apiVersion": "v2"}, {"divisor": "1m"}
    default_field_ref(field)
    default_resource_field_ref(resource)
    assert (field, resource) == ({"apiVersion": "v2"}, {"divisor": "1m"})
