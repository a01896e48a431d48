"""Pod Security Standards: violations by level, in upstream's texts."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.apiserver.kinds.shared.podsecurity.checks import violations
from steersman.apiserver.kinds.shared.podsecurity.levels import (
    BASELINE,
    LATEST,
    PRIVILEGED,
    RESTRICTED,
    Policy,
    Standard,
    policy_of,
)

_PREFIX = "pod-security.kubernetes.io/"
_HARDENED = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def _pod(container: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return {"containers": [{"name": "a", "image": "i", **(container or {})}], **spec}


def _violations(spec: dict[str, Any], level: str = BASELINE, version: int = LATEST, **annotations: str) -> list[str]:
    return [str(violation) for violation in violations(Standard(level, version), {"annotations": annotations}, spec)]


_REFUSED_BY_BASELINE = [
    (
        {"securityContext": {"privileged": True}},
        {},
        'privileged (container "a" must not set securityContext.privileged=true)',
    ),
    ({}, {"hostNetwork": True, "hostPID": True}, "host namespaces (hostNetwork=true, hostPID=true)"),
    ({}, {"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}, 'hostPath volumes (volume "v")'),
    ({"ports": [{"hostPort": 80}, {"hostPort": 443}]}, {}, 'hostPort (container "a" uses hostPorts 443, 80)'),
    (
        {"securityContext": {"capabilities": {"add": ["SYS_ADMIN", "CHOWN"]}}},
        {},
        'non-default capabilities (container "a" must not include "SYS_ADMIN" in securityContext.capabilities.add)',
    ),
    (
        {"securityContext": {"procMount": "Unmasked"}},
        {},
        'procMount (container "a" must not set securityContext.procMount to "Unmasked")',
    ),
    (
        {},
        {"securityContext": {"seLinuxOptions": {"type": "spc_t", "user": "u"}}},
        'seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type "spc_t"; user may not be set)',
    ),
    (
        {"securityContext": {"seccompProfile": {"type": "Unconfined"}}},
        {"securityContext": {"seccompProfile": {"type": "Unconfined"}}},
        'seccompProfile (pod and container "a" must not set securityContext.seccompProfile.type to "Unconfined")',
    ),
    (
        {},
        {"securityContext": {"sysctls": [{"name": "kernel.msgmax"}, {"name": "net.ipv4.tcp_rmem"}]}},
        "forbidden sysctls (kernel.msgmax)",
    ),
    (
        {"securityContext": {"windowsOptions": {"hostProcess": True}}},
        {},
        'hostProcess (container "a" must not set securityContext.windowsOptions.hostProcess=true)',
    ),
    (
        {"securityContext": {"appArmorProfile": {"type": "Unconfined"}}},
        {},
        'forbidden AppArmor profile (container "a" must not set AppArmor profile type to "Unconfined")',
    ),
    (
        {"livenessProbe": {"httpGet": {"port": 1, "host": "10.0.0.1"}}},
        {},
        'probe or lifecycle host (container "a" uses probe or lifecycle host "10.0.0.1")',
    ),
]


@pytest.mark.parametrize(("container", "spec", "error_texts"), _REFUSED_BY_BASELINE, ids=lambda value: str(value)[:30])
def test_baseline_rejects_privilege_escalations(
    container: dict[str, Any], spec: dict[str, Any], error_texts: str
) -> None:
    assert _violations(_pod(container, **spec)) == [error_texts]


@pytest.mark.parametrize(("container", "spec", "error_texts"), _REFUSED_BY_BASELINE, ids=lambda value: str(value)[:30])
def test_privileged_allows_everything(container: dict[str, Any], spec: dict[str, Any], error_texts: str) -> None:
    assert _violations(_pod(container, **spec), PRIVILEGED) == []


def test_plain_pod_satisfies_baseline_but_not_restricted() -> None:
    assert _violations(_pod()) == []
    assert _violations(_pod(), RESTRICTED) == [
        'allowPrivilegeEscalation != false (container "a" must set securityContext.allowPrivilegeEscalation=false)',
        'unrestricted capabilities (container "a" must set securityContext.capabilities.drop=["ALL"])',
        'runAsNonRoot != true (pod or container "a" must set securityContext.runAsNonRoot=true)',
        (
            'seccompProfile (pod or container "a" must set securityContext.seccompProfile.type to "RuntimeDefault" or'
            ' "Localhost")'
        ),
    ]


def test_hardened_pod_satisfies_restricted() -> None:
    assert _violations(_pod({"securityContext": _HARDENED}), RESTRICTED) == []


def test_pod_security_context_applies_to_containers() -> None:
    container = {"securityContext": {name: _HARDENED[name] for name in ("allowPrivilegeEscalation", "capabilities")}}
    whole = {name: _HARDENED[name] for name in ("runAsNonRoot", "seccompProfile")}
    assert _violations(_pod(container, securityContext=whole), RESTRICTED) == []


@pytest.mark.parametrize(
    ("change", "error_texts"),
    [
        ({"runAsUser": 0}, 'runAsUser=0 (container "a" must not set runAsUser=0)'),
        (
            {"runAsNonRoot": False},
            'runAsNonRoot != true (container "a" must not set securityContext.runAsNonRoot=false)',
        ),
        (
            {"capabilities": {"drop": ["ALL"], "add": ["CHOWN", "NET_BIND_SERVICE"]}},
            'unrestricted capabilities (container "a" must not include "CHOWN" in securityContext.capabilities.add)',
        ),
        (
            {"seccompProfile": {"type": "Unconfined"}},
            'seccompProfile (container "a" must not set securityContext.seccompProfile.type to "Unconfined")',
        ),
    ],
    ids=lambda value: str(value)[:30],
)
def test_restricted_rejects_each_missing_hardening(change: dict[str, Any], error_texts: str) -> None:
    assert _violations(_pod({"securityContext": _HARDENED | change}), RESTRICTED) == [error_texts]


def test_restricted_volumes_override_host_path_check() -> None:
    """The restricted check of volume types includes hostPath."""
    volumes = [{"name": "v", "hostPath": {"path": "/"}}, {"name": "n", "nfs": {}}, {"name": "e", "emptyDir": {}}]
    assert _violations(_pod({"securityContext": _HARDENED}, volumes=volumes), RESTRICTED) == [
        'restricted volume types (volumes "v", "n" use restricted volume types "hostPath", "nfs")'
    ]


def test_violations_cover_all_containers_in_start_order() -> None:
    bad = {"image": "i", "securityContext": {"privileged": True}}
    spec = {
        "containers": [{"name": "c", **bad}],
        "initContainers": [{"name": "i", **bad}],
        "ephemeralContainers": [{"name": "e", **bad}],
    }
    assert _violations(spec) == ['privileged (containers "i", "c", "e" must not set securityContext.privileged=true)']


@pytest.mark.parametrize(
    ("spec", "level", "version", "count"),
    [
        (_pod(securityContext={"sysctls": [{"name": "net.ipv4.tcp_rmem"}]}), BASELINE, 31, 1),
        (_pod(securityContext={"sysctls": [{"name": "net.ipv4.tcp_rmem"}]}), BASELINE, 32, 0),
        (_pod(securityContext={"seLinuxOptions": {"type": "container_engine_t"}}), BASELINE, 30, 1),
        (_pod(securityContext={"seLinuxOptions": {"type": "container_engine_t"}}), BASELINE, 31, 0),
        (_pod({"livenessProbe": {"tcpSocket": {"port": 1, "host": "h"}}}), BASELINE, 33, 0),
        (_pod({"livenessProbe": {"tcpSocket": {"port": 1, "host": "h"}}}), BASELINE, 34, 1),
        (_pod({"securityContext": _HARDENED | {"runAsUser": 0}}), RESTRICTED, 22, 0),
        (_pod({"securityContext": _HARDENED | {"runAsUser": 0}}), RESTRICTED, 23, 1),
        (_pod(securityContext={"runAsNonRoot": True}, os={"name": "windows"}), RESTRICTED, 25, 0),
        (_pod(securityContext={"runAsNonRoot": True}, os={"name": "windows"}), RESTRICTED, 24, 3),
    ],
)
def test_standard_depends_on_version(spec: dict[str, Any], level: str, version: int, count: int) -> None:
    assert len(_violations(spec, level, version)) == count


def test_seccomp_annotations_are_checked() -> None:
    app_armor = {"container.apparmor.security.beta.kubernetes.io/a": "unconfined"}
    assert _violations(_pod(), **app_armor) == [
        (
            "forbidden AppArmor profile (annotation must not set AppArmor profile type to"
            ' "container.apparmor.security.beta.kubernetes.io/a="unconfined"")'
        )
    ]
    seccomp = {"seccomp.security.alpha.kubernetes.io/pod": "unconfined"}
    assert _violations(_pod(), BASELINE, 18, **seccomp) == [
        'seccompProfile (forbidden annotation seccomp.security.alpha.kubernetes.io/pod="unconfined")'
    ]
    assert _violations(_pod(), BASELINE, 19, **seccomp) == []


# -- labels of namespaces


def test_policy_of_namespace_without_labels_is_default() -> None:
    for labels in (None, {}, {"app": "x"}):
        policy, errors = policy_of(labels)
        assert policy == Policy()
        assert policy.is_privileged
        assert errors == []


def test_policy_of_reads_level_and_version_of_each_mode() -> None:
    labels = {"enforce": BASELINE, "enforce-version": "v1.30", "audit": RESTRICTED, "warn": RESTRICTED}
    policy, errors = policy_of({_PREFIX + name: value for name, value in labels.items()})
    assert (str(policy.enforce), str(policy.audit), str(policy.warn)) == (
        "baseline:v1.30",
        "restricted:latest",
        "restricted:latest",
    )
    assert errors == []


def test_policy_of_warns_at_enforced_level_without_warn_label() -> None:
    policy, _ = policy_of({f"{_PREFIX}enforce": BASELINE, f"{_PREFIX}enforce-version": "v1.29"})
    assert policy.warn == policy.enforce == Standard(BASELINE, 29)
    assert policy.audit == Standard()


def test_policy_of_invalid_labels_enforces_restricted_and_warns_of_nothing() -> None:
    policy, errors = policy_of({f"{_PREFIX}enforce": "tight", f"{_PREFIX}warn": "loud", f"{_PREFIX}audit-version": "2"})
    assert policy.enforce.level == RESTRICTED
    assert policy.warn.level == policy.audit.level == PRIVILEGED
    assert [str(error.path) for error in errors] == [
        "metadata.labels[pod-security.kubernetes.io/enforce]",
        "metadata.labels[pod-security.kubernetes.io/audit-version]",
        "metadata.labels[pod-security.kubernetes.io/warn]",
    ]


_PROC_MOUNT = 'procMount (container "a" must not set securityContext.procMount to "Unmasked")'


@pytest.mark.parametrize(
    ("level", "version", "expected"),
    [
        (BASELINE, LATEST, []),
        (BASELINE, 35, []),
        (BASELINE, 34, [_PROC_MOUNT]),
        (RESTRICTED, LATEST, [_PROC_MOUNT]),
        (RESTRICTED, 34, [_PROC_MOUNT]),
    ],
)
def test_baseline_allows_every_proc_mount_in_a_user_namespace_since_v1_35(
    level: str, version: int, expected: list[str]
) -> None:
    hardened = {"securityContext": {**_HARDENED, "procMount": "Unmasked"}}

    assert _violations(_pod(hardened, hostUsers=False), level, version) == expected
    assert _violations(_pod(hardened, hostUsers=True), level, version) == [_PROC_MOUNT]


@pytest.mark.parametrize("version", [LATEST, 25])
def test_restricted_allows_root_in_a_user_namespace(version: int) -> None:
    root = {"securityContext": {**_HARDENED, "runAsNonRoot": False, "runAsUser": 0}}
    expected = [
        'runAsNonRoot != true (container "a" must not set securityContext.runAsNonRoot=false)',
        'runAsUser=0 (container "a" must not set runAsUser=0)',
    ]

    assert _violations(_pod(root, hostUsers=False), RESTRICTED, version) == []
    assert _violations(_pod(root, hostUsers=True), RESTRICTED, version) == expected
    assert _violations(_pod(root), RESTRICTED, version) == expected
