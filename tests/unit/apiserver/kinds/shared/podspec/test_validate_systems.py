"""Validation of Pods against their operating system."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import error_texts

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.shared.podspec.validate_systems import validate_operating_system

P = Path("spec")
WINDOWS = {"name": "windows"}


def faults(**spec: object) -> list[str]:
    return error_texts(validate_operating_system(spec, P))


@pytest.mark.parametrize("system", [{"name": "linux"}, WINDOWS, None])
def test_validate_operating_system_accepts_plain_pods(system: dict | None):
    assert faults(os=system, containers=[{"name": "c", "securityContext": {"runAsNonRoot": True}}]) == []


def test_validate_operating_system_requires_known_name():
    assert faults(os={}) == ["spec.os.name: Required value: cannot be empty"]
    assert faults(os={"name": "hurd"}) == ['spec.os: Unsupported value: "hurd": supported values: "linux", "windows"']


def test_validate_operating_system_rejects_windows_options_on_linux():
    context = {"windowsOptions": {}}
    linux = {"name": "linux"}
    assert faults(os=linux, securityContext=context, initContainers=[{"securityContext": context}]) == [
        "spec.securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod",
        (
            "spec.initContainers[0].securityContext.windowsOptions: Forbidden: "
            "windows options cannot be set for a linux pod"
        ),
    ]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("appArmorProfile", {}),
        ("seLinuxOptions", {}),
        ("seccompProfile", {}),
        ("fsGroup", 1),
        ("sysctls", [{}]),
        ("runAsUser", 1),
        ("runAsGroup", 1),
        ("supplementalGroups", [1]),
    ],
)
def test_validate_operating_system_rejects_linux_fields_on_windows(name: str, value: object):
    assert faults(os=WINDOWS, securityContext={name: value}) == [
        f"spec.securityContext.{name}: Forbidden: cannot be set for a windows pod"
    ]


@pytest.mark.parametrize(
    ("name", "value", "count"),
    [
        ("hostPID", True, 1),
        ("hostPID", False, 0),
        ("hostIPC", True, 1),
        ("shareProcessNamespace", False, 1),
        ("hostUsers", True, 1),
    ],
)
def test_validate_operating_system_rejects_host_namespaces_on_windows(name: str, value: bool, count: int):
    assert faults(os=WINDOWS, **{name: value}) == [f"spec.{name}: Forbidden: cannot be set for a windows pod"] * count


@pytest.mark.parametrize("kind", ["containers", "initContainers", "ephemeralContainers"])
@pytest.mark.parametrize("name", ["privileged", "capabilities", "readOnlyRootFilesystem", "procMount", "runAsUser"])
def test_validate_operating_system_rejects_linux_fields_of_containers_on_windows(kind: str, name: str):
    assert faults(os=WINDOWS, **{kind: [{"securityContext": {name: 0}}]}) == [
        f"spec.{kind}[0].securityContext.{name}: Forbidden: cannot be set for a windows pod"
    ]
