"""What is refused of PersistentVolumes and PersistentVolumeClaims."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import copy, told, tree

from steersman.apiserver.kinds.core.persistentvolume.validation import (
    validate_claim,
    validate_claim_status,
    validate_claim_update,
    validate_volume,
    validate_volume_update,
)

HOST = {"hostPath": {"path": "/a", "type": ""}}
CSI = {"csi": {"driver": "d", "volumeHandle": "h"}}
VOLUME = {
    "capacity": {"storage": "1Gi"},
    "accessModes": ["ReadWriteOnce"],
    "persistentVolumeReclaimPolicy": "Retain",
    "volumeMode": "Filesystem",
}
ZONE = "topology.kubernetes.io/zone"


def volume(**spec: object) -> dict:
    return tree(spec=copy({**VOLUME, **spec}))


def on(key: str, *values: str) -> dict:
    expression = {"key": key, "operator": "In", "values": list(values)}
    return {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}}


@pytest.mark.parametrize(
    "spec",
    [
        HOST,
        {**CSI, "volumeAttributesClassName": "gold"},
        {"local": {"path": "/d"}, **on(ZONE, "a")},
        {"nfs": {"server": "s", "path": "/p"}, "storageClassName": "fast", "volumeMode": "Block"},
    ],
)
def test_usual_volumes_are_let_through(spec: dict):
    assert told(validate_volume(volume(**spec))) == []


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ({**HOST, "accessModes": []}, "spec.accessModes: Required value"),
        ({}, "spec: Required value: must specify a volume type"),
        ({**HOST, **CSI}, "spec.csi: Forbidden: may not specify more than 1 volume type"),
        ({"csi": {"driver": "d"}}, "spec.csi.volumeHandle: Required value"),
        (
            {"csi": {**CSI["csi"], "nodeExpandSecretRef": {"name": "s"}}},
            "spec.csi.nodeExpandSecretRef.namespace: Required value",
        ),
        (
            {**HOST, "capacity": {"storage": "0"}},
            'spec.capacity[storage]: Invalid value: "0": must be greater than zero',
        ),
        (
            {**HOST, "persistentVolumeReclaimPolicy": "Burn"},
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
            {**HOST, "nodeAffinity": {}},
            "spec.nodeAffinity.required: Required value: must specify required node constraints",
        ),
        (
            {**HOST, "volumeMode": "Tape"},
            'spec.volumeMode: Unsupported value: "Tape": supported values: "Block", "Filesystem"',
        ),
        (
            {**CSI, "volumeAttributesClassName": ""},
            "spec.volumeAttributesClassName: Required value: an empty string is disallowed",
        ),
        (
            {**HOST, "volumeAttributesClassName": "gold"},
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
def test_one_thing_wrong_with_a_volume_is_told_once(spec: dict, fault: str):
    assert told(validate_volume(volume(**spec))) == [fault]


def test_a_volume_has_a_size_and_nothing_else():
    first, second = told(validate_volume(volume(**HOST, capacity={})))
    assert first == "spec.capacity: Required value"
    assert second.startswith("spec.capacity: Unsupported value: ")
    (fault,) = told(validate_volume(volume(**HOST, capacity={"storage": "1", "cpu": "1"})))
    assert fault == 'spec.capacity: Unsupported value: {"cpu":"1","storage":"1"}: supported values: "storage"'


# -- changes of volumes -------------------------------------------------------------------------------------------------


def test_a_volume_keeps_its_source():
    (fault,) = told(validate_volume_update(volume(hostPath={"path": "/b", "type": ""}), volume(**HOST)))
    assert fault.startswith(
        "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation\n"
    )


def test_a_secret_for_expansion_may_come_later():
    ref = {"controllerExpandSecretRef": {"name": "s", "namespace": "n"}}
    assert told(validate_volume_update(volume(csi={**CSI["csi"], **ref}), volume(**CSI))) == []


@pytest.mark.parametrize(
    ("new", "old", "start"),
    [
        (
            {**HOST, "volumeMode": "Block"},
            HOST,
            'volumeMode: Invalid value: "Block": field is immutable',
        ),
        (
            {**HOST, **on(ZONE, "b")},
            {**HOST, **on(ZONE, "a")},
            'nodeAffinity: Invalid value: {"Required":',
        ),
        (
            CSI,
            {**CSI, "volumeAttributesClassName": "g"},
            "spec.volumeAttributesClassName: Forbidden: update from non-nil value to nil",
        ),
    ],
)
def test_what_was_chosen_stays(new: dict, old: dict, start: str):
    (fault,) = told(validate_volume_update(volume(**new), volume(**old)))
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
def test_the_rest_may_change(new: dict, old: dict):
    assert told(validate_volume_update(volume(**HOST, **new), volume(**HOST, **old))) == []


# -- claims -------------------------------------------------------------------------------------------------------------

CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "volumeMode": "Filesystem"}
IQN = "iqn.2015-02.example.com:storage"
BETA = "volume.beta.kubernetes.io/storage-class"


def claim(status: dict | None = None, annotations: dict | None = None, **spec: object) -> dict:
    return tree({"annotations": annotations or {}}, spec=copy({**CLAIM, **spec}), status=status or {"phase": "Pending"})


def asks(size: str) -> dict:
    return {"resources": {"requests": {"storage": size}}}


BOUND = {"phase": "Bound", "capacity": {"storage": "1Gi"}}
IMMUTABLE = (
    "spec: Forbidden: "
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n"
)


def test_a_usual_claim_is_let_through():
    assert told(validate_claim(claim())) == []


@pytest.mark.parametrize(
    ("new", "old"),
    [
        (claim(volumeName="v"), claim()),
        (claim(BOUND, **asks("2Gi")), claim(BOUND)),
        (claim(storageClassName="fast"), claim()),
        (claim(BOUND, volumeAttributesClassName="g"), claim(BOUND)),
        (claim(storageClassName="fast"), claim(annotations={BETA: "fast"})),
    ],
    ids=["a volume", "growth", "the default class", "a class of attributes", "the class of the annotation"],
)
def test_what_may_change_of_a_claim(new: dict, old: dict):
    assert told(validate_claim_update(new, old)) == []


@pytest.mark.parametrize(
    ("new", "old"),
    [
        (claim(accessModes=["ReadOnlyMany"]), claim()),
        (claim(**asks("2Gi")), claim()),
        (claim(volumeName="w"), claim(volumeName="v")),
        (claim(storageClassName="slow"), claim(storageClassName="fast")),
        (claim(volumeAttributesClassName="g"), claim()),
    ],
)
def test_what_stays(new: dict, old: dict):
    (fault,) = told(validate_claim_update(new, old))
    assert fault.startswith(IMMUTABLE)


def test_the_mode_stays_and_is_told_by_itself_too():
    first, second = told(validate_claim_update(claim(volumeMode="Block"), claim()))
    assert first.startswith(IMMUTABLE)
    assert second == 'volumeMode: Invalid value: "Block": field is immutable'


def test_a_claim_shrinks_no_further_than_its_volume():
    status = {"phase": "Bound", "capacity": {"storage": "1Gi"}}
    assert told(validate_claim_update(claim(status, **asks("2Gi")), claim(status, **asks("3Gi")))) == []
    assert told(validate_claim_update(claim(status, **asks("1Gi")), claim(status, **asks("3Gi")))) == [
        "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"
    ]


def test_the_annotation_of_the_class_stays():
    faults = told(validate_claim_update(claim(annotations={BETA: "b"}), claim(annotations={BETA: "a"})))
    assert faults == [f'metadata.annotations.{BETA}: Invalid value: "b": field is immutable']


@pytest.mark.parametrize(("name", "text"), [(None, "nil"), ("", "an empty string")])
def test_a_class_of_attributes_is_not_taken_back(name: str | None, text: str):
    faults = told(
        validate_claim_update(claim(BOUND, volumeAttributesClassName=name), claim(BOUND, volumeAttributesClassName="g"))
    )
    assert f"spec.volumeAttributesClassName: Forbidden: update from non-nil value to {text} is forbidden" in faults


def test_sizes_of_the_status_are_not_negative():
    assert told(validate_claim_status(claim({"capacity": {"storage": "-1"}}))) == [
        "status.capacity[storage]: Invalid value: -1: must be a valid resource quantity"
    ]
    assert told(validate_claim_status(claim(BOUND))) == []


# -- statuses of claims -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "faults"),
    [
        ({"capacity": {"storage": "1Gi"}}, []),
        (
            {"capacity": {"storage": "-1"}},
            ["status.capacity[storage]: Invalid value: -1: must be a valid resource quantity"],
        ),
        (
            {
                "allocatedResources": {"storage": "1Gi", "example.com/x": "1"},
                "allocatedResourceStatuses": {"storage": "NodeResizePending"},
            },
            [],
        ),
        (
            {"allocatedResources": {"cpu": "1", "storage": "-1"}},
            [
                'status.allocatedResources: Unsupported value: "cpu": supported values: "storage"',
                "status.allocatedResources[storage]: Invalid value: -1: must be a valid resource quantity",
            ],
        ),
        (
            {"allocatedResourceStatuses": {"storage": "Growing"}},
            [
                (
                    'status.allocatedResourceStatus: Unsupported value: "storage": supported values: '
                    '"ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress", '
                    '"NodeResizeInfeasible", "NodeResizePending"'
                )
            ],
        ),
    ],
)
def test_sizes_of_a_claim_are_amounts_of_known_resources(status: dict, faults: list[str]):
    assert told(validate_claim_status({"status": status})) == faults


# -- sources of volumes that are not as pods have them ----------------------------------------------------------------


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
            {"iscsi": {"targetPortal": "t" * 64, "iqn": IQN, "initiatorName": IQN}},
            [
                (
                    f'spec.iscsi.targetportal: Invalid value: "{"t" * 64}": Total length of <volume name>:<iscsi.targetPortal>'
                    " must be under 64 characters if iscsi.initiatorName is specified."
                )
            ],
        ),
        (
            {"storageos": {"volumeName": "v", "secretRef": {"name": "s"}}},
            ["spec.storageos.secretRef.namespace: Required value"],
        ),
    ],
)
def test_sources_of_volumes_say_more_than_those_of_pods(source: dict, faults: list[str]):
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], **source}
    assert told(validate_volume({"metadata": {"name": "v"}, "spec": spec})) == faults
