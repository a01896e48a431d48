"""Validation of PersistentVolumes."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import CSI, HOST_PATH, VOLUME_SPEC, copy, error_texts, tree

from steersman.apiserver.kinds.core.persistentvolume.validation import validate_volume, validate_volume_update

ZONE = "topology.kubernetes.io/zone"


def volume(**spec: object) -> dict:
    return tree(spec=copy({**VOLUME_SPEC, **spec}))


def on(key: str, *values: str) -> dict:
    expression = {"key": key, "operator": "In", "values": list(values)}
    return {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}}


def test_validate_volume_validates_spec_with_name_of_volume():
    name = "iqn.2015-02.example.com:storage"
    source = {"iscsi": {"targetPortal": "t" * 62, "iqn": name, "initiatorName": name}}
    obj = volume(**source)
    assert error_texts(validate_volume({**obj, "metadata": {"name": "a"}})) == []
    (fault,) = error_texts(validate_volume({**obj, "metadata": {"name": "ab"}}))
    assert fault.startswith("spec.iscsi.targetportal: Invalid value: ")


def test_validate_volume_update_rejects_source_change():
    (fault,) = error_texts(validate_volume_update(volume(hostPath={"path": "/b", "type": ""}), volume(**HOST_PATH)))
    assert fault.startswith(
        "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation\n"
    )


def test_validate_volume_update_accepts_added_expansion_secret():
    ref = {"controllerExpandSecretRef": {"name": "s", "namespace": "n"}}
    assert error_texts(validate_volume_update(volume(csi={**CSI["csi"], **ref}), volume(**CSI))) == []


@pytest.mark.parametrize(
    ("new", "old", "start"),
    [
        (
            {**HOST_PATH, "volumeMode": "Block"},
            HOST_PATH,
            'volumeMode: Invalid value: "Block": field is immutable',
        ),
        (
            {**HOST_PATH, **on(ZONE, "b")},
            {**HOST_PATH, **on(ZONE, "a")},
            'nodeAffinity: Invalid value: {"Required":',
        ),
        (
            CSI,
            {**CSI, "volumeAttributesClassName": "g"},
            "spec.volumeAttributesClassName: Forbidden: update from non-nil value to nil",
        ),
    ],
)
def test_validate_volume_update_rejects_immutable_fields(new: dict, old: dict, start: str):
    (fault,) = error_texts(validate_volume_update(volume(**new), volume(**old)))
    assert fault.startswith(start)


@pytest.mark.parametrize(
    ("new", "old"),
    [
        (on(ZONE, "a"), {}),
        (on(ZONE, "a"), on("failure-domain.beta.kubernetes.io/zone", "a")),
        ({"capacity": {"storage": "2Gi"}}, {}),
        ({"persistentVolumeReclaimPolicy": "Delete"}, {}),
    ],
    ids=["affinity comes", "label by its new name", "size", "policy"],
)
def test_validate_volume_update_accepts_mutable_fields(new: dict, old: dict):
    assert error_texts(validate_volume_update(volume(**HOST_PATH, **new), volume(**HOST_PATH, **old))) == []
