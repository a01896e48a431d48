"""Validation of volume mounts and devices."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import error_texts

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.shared.podspec.validate_mounts import validate_devices, validate_mounts

P = Path("m")
VOLUMES = {
    "v": {"name": "v", "emptyDir": {}},
    "w": {"name": "w", "persistentVolumeClaim": {"claimName": "c"}},
    "x": {"name": "x", "ephemeral": {}},
}


def faults(*mounts: dict, **container: object) -> list[str]:
    return error_texts(validate_mounts({"volumeMounts": list(mounts), **container}, P, VOLUMES))


def device_faults(*devices: dict, **container: object) -> list[str]:
    return error_texts(validate_devices({"volumeDevices": list(devices), **container}, P, VOLUMES))


def mount(**parts: object) -> dict:
    return {"name": "v", "mountPath": "/m", **parts}


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"mountPath": "relative"},
        {"subPath": "a/b"},
        {"subPathExpr": "$(A)/b"},
        {"mountPropagation": "HostToContainer"},
        {"recursiveReadOnly": "Enabled", "readOnly": True},
        {"recursiveReadOnly": "Disabled"},
    ],
)
def test_validate_mounts_accepts_valid_mounts(parts: dict):
    assert faults(mount(**parts)) == []


@pytest.mark.parametrize(
    ("parts", "given_faults"),
    [
        ({"name": ""}, ["m[0].name: Required value", 'm[0].name: Not found: ""']),
        ({"name": "no"}, ['m[0].name: Not found: "no"']),
        ({"mountPath": ""}, ["m[0].mountPath: Required value"]),
        ({"subPath": "/a"}, ['m.subPath: Invalid value: "/a": must be a relative path']),
        ({"subPath": "a/../b"}, ["m.subPath: Invalid value: \"a/../b\": must not contain '..'"]),
        (
            {"subPath": "a", "subPathExpr": "b"},
            ['m[0].subPathExpr: Invalid value: "b": subPathExpr and subPath are mutually exclusive'],
        ),
        (
            {"mountPropagation": "X"},
            [
                'm.mountPropagation: Unsupported value: "X": supported values: "Bidirectional", "HostToContainer", "None"'
            ],
        ),
        (
            {"mountPropagation": "Bidirectional"},
            [
                (
                    "m.mountPropagation: Forbidden: "
                    "Bidirectional mount propagation is available only to privileged containers"
                )
            ],
        ),
        (
            {"recursiveReadOnly": "Enabled"},
            ["m.recursiveReadOnly: Forbidden: may only be specified when readOnly is true"],
        ),
        (
            {"recursiveReadOnly": "IfPossible", "readOnly": True, "mountPropagation": "HostToContainer"},
            [("m.recursiveReadOnly: Forbidden: may only be specified when mountPropagation is None or not specified")],
        ),
    ],
)
def test_validate_mounts_rejects_invalid_mounts(parts: dict, given_faults: list[str]):
    assert faults(mount(**parts)) == given_faults


def test_validate_mounts_accepts_bidirectional_propagation_of_privileged_containers():
    assert faults(mount(mountPropagation="Bidirectional"), securityContext={"privileged": True}) == []


def test_validate_mounts_rejects_duplicate_paths():
    assert faults(mount(), mount(name="w")) == ['m[1].mountPath: Invalid value: "/m": must be unique']


def test_validate_mounts_rejects_volume_that_is_also_a_device():
    devices = [{"name": "w", "devicePath": "/d"}]
    assert faults(mount(name="w"), mount(mountPath="/d"), volumeDevices=devices) == [
        'm[0].name: Invalid value: "w": must not already exist in volumeDevices',
        'm[1].mountPath: Invalid value: "/d": must not already exist as a path in volumeDevices',
    ]
    assert device_faults(*devices, volumeMounts=[mount(name="w", mountPath="/d")]) == [
        'm[0].name: Invalid value: "w": must not already exist in volumeMounts',
        'm[0].devicePath: Invalid value: "/d": must not already exist as a path in volumeMounts',
    ]


@pytest.mark.parametrize("name", ["w", "x"])
def test_validate_devices_requires_claims(name: str):
    assert device_faults({"name": name, "devicePath": "/dev/x"}) == []


@pytest.mark.parametrize(
    ("device", "fault"),
    [
        (
            {"name": "v", "devicePath": "/d"},
            (
                'm[0].name: Invalid value: "v": '
                "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            ),
        ),
        ({"name": "no", "devicePath": "/d"}, 'm[0].name: Not found: "no"'),
        ({"name": "w"}, "m[0].devicePath: Required value"),
        (
            {"name": "w", "devicePath": "/a/.."},
            "m[0].devicePath: Invalid value: \"/a/..\": can not contain backsteps ('..')",
        ),
    ],
)
def test_validate_devices_rejects_invalid_devices(device: dict, fault: str):
    assert device_faults(device) == [fault]


def test_validate_devices_rejects_duplicate_paths():
    assert device_faults({"name": "w", "devicePath": "/d"}, {"name": "x", "devicePath": "/d"}) == [
        'm[1].devicePath: Invalid value: "/d": must be unique'
    ]
