"""What cannot be had on an operating system."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import told

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.shared.podspec.validate_systems import validate_operating_system

P = Path("spec")
WINDOWS = {"name": "windows"}


def faults(**spec: object) -> list[str]:
    return told(validate_operating_system(spec, P))


@pytest.mark.parametrize("system", [{"name": "linux"}, WINDOWS, None])
def test_plain_pods_run_anywhere(system: dict | None):
    assert faults(os=system, containers=[{"name": "c", "securityContext": {"runAsNonRoot": True}}]) == []


def test_a_system_has_a_known_name():
    assert faults(os={}) == ["spec.os.name: Required value: cannot be empty"]
    assert faults(os={"name": "hurd"}) == ['spec.os: Unsupported value: "hurd": supported values: "linux", "windows"']


def test_options_of_windows_are_for_windows():
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
def test_what_linux_protects_pods_by_windows_has_not(name: str, value: object):
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
def test_namespaces_are_linuxs(name: str, value: bool, count: int):
    assert faults(os=WINDOWS, **{name: value}) == [f"spec.{name}: Forbidden: cannot be set for a windows pod"] * count


@pytest.mark.parametrize("kind", ["containers", "initContainers", "ephemeralContainers"])
@pytest.mark.parametrize("name", ["privileged", "capabilities", "readOnlyRootFilesystem", "procMount", "runAsUser"])
def test_containers_neither(kind: str, name: str):
    assert faults(os=WINDOWS, **{kind: [{"securityContext": {name: 0}}]}) == [
        f"spec.{kind}[0].securityContext.{name}: Forbidden: cannot be set for a windows pod"
    ]
