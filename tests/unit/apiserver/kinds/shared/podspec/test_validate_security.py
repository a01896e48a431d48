"""Validation of security contexts."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import error_texts

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.shared.podspec.rules import TEMPLATE_RULES, PodRules
from steersman.apiserver.kinds.shared.podspec.validate_security import (
    check_app_armor,
    validate_container_security,
    validate_host_process,
    validate_pod_security,
)

P = Path("s")


def pod_faults(spec: dict | None = None, **context: object) -> list[str]:
    return error_texts(validate_pod_security({**(spec or {}), "securityContext": context}, P))


def faults(rules: PodRules = TEMPLATE_RULES, *, host_users: bool = True, **context: object) -> list[str]:
    return error_texts(validate_container_security(context, P, host_users=host_users, rules=rules))


@pytest.mark.parametrize("name", ["fsGroup", "runAsUser", "runAsGroup"])
def test_validate_pod_security_requires_ids_of_31_bits(name: str):
    assert pod_faults(**{name: 2147483647}) == []
    assert pod_faults(**{name: -1}) == [f"s.{name}: Invalid value: -1: must be between 0 and 2147483647, inclusive"]


@pytest.mark.parametrize(
    ("context", "fault"),
    [
        (
            {"supplementalGroups": [-1]},
            "s.supplementalGroups[0]: Invalid value: -1: must be between 0 and 2147483647, inclusive",
        ),
        (
            {"fsGroupChangePolicy": "X"},
            's.fsGroupChangePolicy: Unsupported value: "X": supported values: "Always", "OnRootMismatch"',
        ),
        (
            {"supplementalGroupsPolicy": "X"},
            's.supplementalGroupsPolicy: Unsupported value: "X": supported values: "Merge", "Strict"',
        ),
        (
            {"seLinuxChangePolicy": "MountOption"},
            's.seLinuxChangePolicy: Unsupported value: "MountOption": supported values: "Recursive"',
        ),
        ({"sysctls": [{"name": "", "value": ""}]}, "s.sysctls[0].name: Required value"),
        ({"sysctls": [{"name": "a.b"}, {"name": "a.b"}]}, 's.sysctls[1].name: Duplicate value: "a.b"'),
        (
            {"seccompProfile": {}},
            "s.seccompProfile.type: Required value: type is required when seccompProfile is set",
        ),
        (
            {"seccompProfile": {"type": "X"}},
            (
                's.seccompProfile.type: Unsupported value: "X": '
                'supported values: "Localhost", "RuntimeDefault", "Unconfined"'
            ),
        ),
        (
            {"seccompProfile": {"type": "Localhost"}},
            "s.seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost",
        ),
        (
            {"seccompProfile": {"type": "Localhost", "localhostProfile": "/a"}},
            's.seccompProfile.localhostProfile: Invalid value: "/a": must be a relative path',
        ),
    ],
)
def test_validate_pod_security_rejects_invalid_fields(context: dict, fault: str):
    assert pod_faults(**context) == [fault]


@pytest.mark.parametrize("name", ["kernel.shm_rmid_forced", "net/ipv4/ip_forward", "a-b_c"])
def test_validate_pod_security_accepts_sysctls_with_dots_or_slashes(name: str):
    assert pod_faults(sysctls=[{"name": name, "value": "1"}]) == []


@pytest.mark.parametrize("name", ["A", "a..b", "a.", "a" * 254])
def test_validate_pod_security_checks_sysctl_names(name: str):
    (fault,) = pod_faults(sysctls=[{"name": name, "value": "1"}])
    assert fault.startswith(
        f's.sysctls[0].name: Invalid value: "{name}": must have at most 253 characters and match regex'
    )


@pytest.mark.parametrize(
    ("flag", "name"), [("hostNetwork", "net.core.x"), ("hostNetwork", "net/core/x"), ("hostIPC", "kernel.shmmax")]
)
def test_validate_pod_security_rejects_sysctls_of_host_namespaces(flag: str, name: str):
    assert pod_faults({flag: True}, sysctls=[{"name": name}]) == [
        f"s.sysctls[0].name: Invalid value: \"{name}\": may not be specified when '{flag}' is true"
    ]


def test_validate_pod_security_rejects_shared_and_host_process_namespace():
    assert pod_faults({"shareProcessNamespace": True, "hostPID": True}) == [
        "s.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled"
    ]


@pytest.mark.parametrize(
    ("profile", "fault"),
    [
        (
            {"type": "Localhost"},
            "s.localhostProfile: Required value: must be set when AppArmor type is Localhost",
        ),
        (
            {"type": "Localhost", "localhostProfile": " a"},
            's.localhostProfile: Invalid value: " a": must not be padded with whitespace',
        ),
        (
            {"type": "Localhost", "localhostProfile": "a" * 4096},
            "s.localhostProfile: Too long: may not be more than 4095 bytes",
        ),
        (
            {"type": "Unconfined", "localhostProfile": "a"},
            's.localhostProfile: Invalid value: "a": can only be set when AppArmor type is Localhost',
        ),
        ({}, "s.type: Required value: type is required when appArmorProfile is set"),
        (
            {"type": "X"},
            's.type: Unsupported value: "X": supported values: "Localhost", "RuntimeDefault", "Unconfined"',
        ),
    ],
)
def test_check_app_armor_and_seccomp_reject_invalid_profiles(profile: dict, fault: str):
    assert error_texts(check_app_armor(profile, P)) == [fault]


# -- containers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("context", [{}, {"privileged": True}, {"procMount": "Default"}, {"runAsUser": 0}])
def test_validate_container_security_accepts_valid_contexts(context: dict):
    assert faults(**context) == []


def test_validate_container_security_rejects_privileged_when_not_allowed():
    assert faults(PodRules(allow_privileged=False), privileged=True) == [
        "s.privileged: Forbidden: disallowed by cluster policy"
    ]


def test_validate_container_security_requires_user_namespace_for_unmasked_proc():
    assert faults(procMount="Unmasked") == [
        's.procMount: Invalid value: "Unmasked": `hostUsers` must be false to use `Unmasked`'
    ]
    assert faults(procMount="Unmasked", host_users=False) == []


@pytest.mark.parametrize(
    ("context", "detail"),
    [
        ({"privileged": True}, "`privileged` to true"),
        ({"capabilities": {"add": ["CAP_SYS_ADMIN"]}}, "`capabilities.Add` CAP_SYS_ADMIN"),
    ],
)
def test_validate_container_security_rejects_privileged_without_privilege_escalation(context: dict, detail: str):
    (fault,) = faults(allowPrivilegeEscalation=False, **context)
    assert fault.startswith("s: Invalid value: {")
    assert fault.endswith(f"cannot set `allowPrivilegeEscalation` to false and {detail}")


# -- Windows ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ContainerUser", "DOMAIN\\user", "example.com\\user", "NT AUTHORITY\\SYSTEM"])
def test_validate_container_security_accepts_windows_user_with_domain(name: str):
    assert faults(windowsOptions={"runAsUserName": name}) == []


@pytest.mark.parametrize(
    ("name", "detail"),
    [
        ("", "runAsUserName cannot be an empty string"),
        ("a\\b\\c", "runAsUserName cannot contain more than one backslash"),
        ("a\tb", "runAsUserName cannot contain control characters"),
        ("dom\\", "runAsUserName's User cannot be empty"),
        (". .", "runAsUserName's User cannot contain only periods or spaces"),
        ("a" * 105, "runAsUserName's User length must not be longer than 104 characters"),
        ("a?", "runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]"),
    ],
)
def test_validate_container_security_rejects_invalid_windows_users(name: str, detail: str):
    (fault,) = faults(windowsOptions={"runAsUserName": name})
    assert fault.startswith("s.windowsOptions.runAsUserName: Invalid value: ")
    assert fault.endswith(f": {detail}")


def host(value: bool | None) -> dict:
    return {"securityContext": {"windowsOptions": {"hostProcess": value}}}


@pytest.mark.parametrize(
    ("spec", "given_faults"),
    [
        ({"containers": [{}]}, []),
        ({**host(True), "hostNetwork": True, "containers": [{}]}, []),
        (
            {**host(True), "containers": [{}]},
            [
                (
                    "s.hostNetwork: Invalid value: false: "
                    "hostNetwork must be true if pod contains any hostProcess containers"
                )
            ],
        ),
        (
            {"hostNetwork": True, "containers": [host(True), {}]},
            [
                (
                    's: Invalid value: "": If pod contains any hostProcess containers '
                    "then all containers must be HostProcess containers"
                )
            ],
        ),
    ],
)
def test_validate_host_process_requires_all_or_no_containers(spec: dict, given_faults: list[str]):
    assert error_texts(validate_host_process(spec, P)) == given_faults


def test_validate_host_process_rejects_contradiction_with_pod():
    errors = error_texts(validate_host_process({**host(False), "containers": [host(True)], "hostNetwork": True}, P))
    assert errors == [
        (
            "s.containers[0].securityContext.windowsOptions.hostProcess: Invalid value: true: "
            "pod hostProcess value must be identical if both are specified, was false"
        )
    ]
