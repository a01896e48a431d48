"""Validation of volume specs."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import CSI, HOST_PATH, VOLUME_SPEC, error_texts

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.shared.volume_specs import validate_volume_spec

IQN = "iqn.2015-02.example.com:storage"
ZONE = "topology.kubernetes.io/zone"


def validated(**spec: object) -> list[str]:
    return error_texts(validate_volume_spec({**VOLUME_SPEC, **spec}, Path("spec"), volume_name="v"))


def on(key: str, *values: str) -> dict:
    expression = {"key": key, "operator": "In", "values": list(values)}
    return {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}}


@pytest.mark.parametrize(
    "spec",
    [
        HOST_PATH,
        {**CSI, "volumeAttributesClassName": "gold"},
        {"local": {"path": "/d"}, **on(ZONE, "a")},
        {**HOST_PATH, "flexVolume": {"driver": "d"}},  # upstream does not count the sources before a flex volume
        {"nfs": {"server": "s", "path": "/p"}, "storageClassName": "fast", "volumeMode": "Block"},
    ],
)
def test_validate_volume_spec_accepts_valid_volumes(spec: dict):
    assert validated(**spec) == []


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ({**HOST_PATH, "accessModes": []}, "spec.accessModes: Required value"),
        ({}, "spec: Required value: must specify a volume type"),
        ({**HOST_PATH, **CSI}, "spec.csi: Forbidden: may not specify more than 1 volume type"),
        (
            {"flexVolume": {"driver": "d"}, **CSI},
            "spec.csi: Forbidden: may not specify more than 1 volume type",
        ),
        ({"csi": {"driver": "d"}}, "spec.csi.volumeHandle: Required value"),
        (
            {"csi": {**CSI["csi"], "nodeExpandSecretRef": {"name": "s"}}},
            "spec.csi.nodeExpandSecretRef.namespace: Required value",
        ),
        (
            {**HOST_PATH, "capacity": {"storage": "0"}},
            'spec.capacity[storage]: Invalid value: "0": must be greater than zero',
        ),
        (
            {**HOST_PATH, "persistentVolumeReclaimPolicy": "Burn"},
            (
                'spec.persistentVolumeReclaimPolicy: Unsupported value: "Burn": '
                'supported values: "Delete", "Recycle", "Retain"'
            ),
        ),
        (
            {"hostPath": {"path": "/"}, "persistentVolumeReclaimPolicy": "Recycle"},
            "spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'",
        ),
        ({"local": {"path": "/d"}}, "spec.nodeAffinity: Required value: Local volume requires node affinity"),
        (
            {**HOST_PATH, "nodeAffinity": {}},
            "spec.nodeAffinity.required: Required value: must specify required node constraints",
        ),
        (
            {**HOST_PATH, "volumeMode": "Tape"},
            'spec.volumeMode: Unsupported value: "Tape": supported values: "Block", "Filesystem"',
        ),
        (
            {**CSI, "volumeAttributesClassName": ""},
            "spec.volumeAttributesClassName: Required value: an empty string is disallowed",
        ),
        (
            {**HOST_PATH, "volumeAttributesClassName": "gold"},
            "spec.csi: Required value: has to be specified when using volumeAttributesClassName",
        ),
        ({"cinder": {"volumeID": "v", "secretRef": {"name": "s"}}}, "spec.cinder.secretRef.namespace: Required value"),
        (
            {"azureFile": {"secretName": "s", "shareName": "h", "secretNamespace": ""}},
            "spec.azureFile.secretNamespace: Required value",
        ),
        ({"gcePersistentDisk": {}}, "spec.persistentDisk.pdName: Required value"),
    ],
)
def test_validate_volume_spec_reports_single_error(spec: dict, fault: str):
    assert validated(**spec) == [fault]


def test_validate_volume_spec_requires_storage_as_only_capacity():
    first, second = validated(**HOST_PATH, capacity={})
    assert first == "spec.capacity: Required value"
    assert second.startswith("spec.capacity: Unsupported value: ")
    (fault,) = validated(**HOST_PATH, capacity={"storage": "1", "cpu": "1"})
    assert fault == 'spec.capacity: Unsupported value: {"cpu":"1","storage":"1"}: supported values: "storage"'


INLINE = {"accessModes": ["ReadWriteOnce"], **CSI}


@pytest.mark.parametrize(
    ("spec", "faults"),
    [
        ({"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"}, []),
        ({"nodeAffinity": {}}, ["spec.nodeAffinity: Forbidden: may not be specified in the context of inline volumes"]),
        (
            {"volumeMode": "Block"},
            [
                "spec.volumeMode: Forbidden: may not specify volumeMode other than Filesystem in the context of inline volumes"
            ],
        ),
    ],
)
def test_validate_volume_spec_rejects_fields_of_persistent_volumes_inline(spec: dict, faults: list[str]):
    assert error_texts(validate_volume_spec({**INLINE, **spec}, Path("spec"), is_inline=True)) == faults


# -- sources that differ from those of Pods -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "faults"),
    [
        (
            {"iscsi": {"targetPortal": "t", "iqn": "disk", "secretRef": {}}},
            [
                'spec.iscsi.iqn: Invalid value: "disk": must be valid format',
                "spec.iscsi.secretRef.name: Required value",
            ],
        ),
        (
            {"iscsi": {"targetPortal": "t" * 64, "initiatorName": IQN}},
            [
                (
                    f'spec.iscsi.targetportal: Invalid value: "{"t" * 64}": Total length of <volume name>:<iscsi.targetPortal>'
                    " must be under 64 characters if iscsi.initiatorName is specified."
                ),
                "spec.iscsi.iqn: Required value",
            ],
        ),
        (
            {"storageos": {"volumeName": "v", "secretRef": {"name": "s"}}},
            ["spec.storageos.secretRef.namespace: Required value"],
        ),
    ],
)
def test_validate_volume_spec_checks_fields_of_persistent_sources(source: dict, faults: list[str]):
    assert validated(**source) == faults


def test_validate_volume_spec_reports_class_and_mode_after_the_source():
    assert [fault.partition(":")[0] for fault in validated(storageClassName="A_", volumeMode="x", capacity={})] == [
        "spec.capacity",
        "spec.capacity",
        "spec",
        "spec.storageClassName",
        "spec.volumeMode",
    ]


def test_validate_volume_spec_inline_reports_an_empty_claim_first_and_the_class_last():
    spec = {"claimRef": {}, "storageClassName": "fast", "nodeAffinity": {}, "persistentVolumeReclaimPolicy": "Delete"}
    faults = error_texts(validate_volume_spec(spec, Path("spec"), is_inline=True))
    assert [fault.partition(":")[0] for fault in faults] == [
        "spec.claimRef",
        "spec.csi",
        "spec.accessModes",
        "spec.persistentVolumeReclaimPolicy",
        "spec.nodeAffinity",
        "spec",
        "spec.storageClassName",
    ]
