"""Security contexts."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import told

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
    return told(validate_pod_security({**(spec or {}), "securityContext": context}, P))


def faults(rules: PodRules = TEMPLATE_RULES, *, host_users: bool = True, **context: object) -> list[str]:
    return told(validate_container_security(context, P, host_users=host_users, rules=rules))


@pytest.mark.parametrize("name", ["fsGroup", "runAsUser", "runAsGroup"])
def test_ids_are_not_negative_and_fit_into_31_bits(name: str):
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
def test_what_is_wrong_with_a_pods_context_is_told(context: dict, fault: str):
    assert pod_faults(**context) == [fault]


@pytest.mark.parametrize("name", ["kernel.shm_rmid_forced", "net/ipv4/ip_forward", "a-b_c"])
def test_kernel_settings_have_dots_or_slashes(name: str):
    assert pod_faults(sysctls=[{"name": name, "value": "1"}]) == []


@pytest.mark.parametrize("name", ["A", "a..b", "a.", "a" * 254])
def test_and_a_certain_form(name: str):
    (fault,) = pod_faults(sysctls=[{"name": name, "value": "1"}])
    assert fault.startswith(
        f's.sysctls[0].name: Invalid value: "{name}": must have at most 253 characters and match regex'
    )


@pytest.mark.parametrize(
    ("flag", "name"), [("hostNetwork", "net.core.x"), ("hostNetwork", "net/core/x"), ("hostIPC", "kernel.shmmax")]
)
def test_settings_of_the_host_are_not_the_pods(flag: str, name: str):
    assert pod_faults({flag: True}, sysctls=[{"name": name}]) == [
        f"s.sysctls[0].name: Invalid value: \"{name}\": may not be specified when '{flag}' is true"
    ]


def test_processes_are_shared_with_the_pod_or_the_host():
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
def test_what_is_wrong_with_a_profile_is_told(profile: dict, fault: str):
    assert told(check_app_armor(profile, P)) == [fault]


# -- containers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("context", [{}, {"privileged": True}, {"procMount": "Default"}, {"runAsUser": 0}])
def test_usual_contexts_are_let_through(context: dict):
    assert faults(**context) == []


def test_a_cluster_may_have_no_privileged_containers():
    assert faults(PodRules(allow_privileged=False), privileged=True) == [
        "s.privileged: Forbidden: disallowed by cluster policy"
    ]


def test_all_of_proc_is_for_user_namespaces():
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
def test_who_has_all_privileges_cannot_be_kept_from_more(context: dict, detail: str):
    (fault,) = faults(allowPrivilegeEscalation=False, **context)
    assert fault.startswith("s: Invalid value: {")
    assert fault.endswith(f"cannot set `allowPrivilegeEscalation` to false and {detail}")


# -- Windows ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ContainerUser", "DOMAIN\\user", "example.com\\user", "NT AUTHORITY\\SYSTEM"])
def test_users_of_windows_may_stand_behind_a_domain(name: str):
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
def test_names_of_users_have_a_form(name: str, detail: str):
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
def test_processes_of_the_host_are_all_or_none(spec: dict, given_faults: list[str]):
    assert told(validate_host_process(spec, P)) == given_faults


def test_a_container_does_not_contradict_its_pod():
    errors = told(validate_host_process({**host(False), "containers": [host(True)], "hostNetwork": True}, P))
    assert errors == [
        (
            "s.containers[0].securityContext.windowsOptions.hostProcess: Invalid value: true: "
            "pod hostProcess value must be identical if both are specified, was false"
        )
    ]
