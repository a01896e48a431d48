"""Validation of containers, init containers and ephemeral containers."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import container, error_texts, pod_spec

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.shared.podspec.rules import TEMPLATE_RULES
from steersman.apiserver.kinds.shared.podspec.validate_containers import (
    ContainerContext,
    check_image_padding,
    validate_containers,
    validate_ephemeral_containers,
    validate_init_containers,
)

C = Path("c")
RULE = {"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}
EXEC = {"exec": {"command": ["x"]}}


def faults(*containers: dict, **spec: object) -> list[str]:
    whole = pod_spec(**spec)
    return error_texts(validate_containers(containers, C, ContainerContext(whole, {}, TEMPLATE_RULES)))


def init_faults(*inits: dict, **spec: object) -> list[str]:
    whole = pod_spec(initContainers=list(inits), **spec)
    return error_texts(validate_init_containers(whole, C, ContainerContext(whole, {}, TEMPLATE_RULES)))


def ephemeral_faults(**parts: object) -> list[str]:
    whole = pod_spec(ephemeralContainers=[{"name": "e", "image": "i", **parts}])
    return error_texts(validate_ephemeral_containers(whole, C, ContainerContext(whole, {}, TEMPLATE_RULES)))


def test_validate_containers_requires_one_container():
    assert faults() == ["c: Required value"]


def test_validate_containers_accepts_valid_container():
    assert faults(container()) == []


@pytest.mark.parametrize(
    ("parts", "fault"),
    [
        ({"name": ""}, "c[0].name: Required value"),
        ({"image": ""}, "c[0].image: Required value"),
        (
            {"imagePullPolicy": "X"},
            'c[0].imagePullPolicy: Unsupported value: "X": supported values: "Always", "IfNotPresent", "Never"',
        ),
        (
            {"terminationMessagePolicy": "X"},
            'c[0].terminationMessagePolicy: Unsupported value: "X": supported values: "File", "FallbackToLogsOnError"',
        ),
        ({"ports": [{}]}, "c[0].ports[0].containerPort: Required value"),
        (
            {"ports": [{"containerPort": 70000}]},
            "c[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
        ),
        (
            {"ports": [{"containerPort": 1, "protocol": "X"}]},
            'c[0].ports[0].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"',
        ),
        (
            {"ports": [{"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "a"}]},
            'c[0].ports[1].name: Duplicate value: "a"',
        ),
        (
            {"ports": [{"containerPort": 1, "hostPort": 8}, {"containerPort": 2, "hostPort": 8}]},
            'c[0].ports[1].hostPort: Duplicate value: "TCP//8"',
        ),
        (
            {"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "X"}]},
            'c[0].resizePolicy: Unsupported value: "X": supported values: "NotRequired", "RestartContainer"',
        ),
        (
            {"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}] * 2},
            'c[0].resizePolicy[1]: Duplicate value: "cpu"',
        ),
        (
            {"restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}]},
            "c[0].restartPolicy: Required value: must specify restartPolicy when restart rules are used",
        ),
        (
            {"restartPolicy": "Never", "restartPolicyRules": [{"action": "Restart"}]},
            "c[0].restartPolicyRules[0].exitCodes: Required value: must be specified",
        ),
        (
            {"restartPolicy": ""},
            'c[0].restartPolicy: Unsupported value: "": supported values: "Always", "Never", "OnFailure"',
        ),
        (
            {"restartPolicy": "Never", "restartPolicyRules": [{"exitCodes": {"operator": "In", "values": [1]}}]},
            'c[0].restartPolicyRules[0].action: Unsupported value: "": supported values: "Restart", "RestartAllContainers"',
        ),
        (
            {"restartPolicy": "Never", "restartPolicyRules": [{"action": "Restart", "exitCodes": {"values": [1]}}]},
            'c[0].restartPolicyRules[0].exitCodes.operator: Unsupported value: "": supported values: "In", "NotIn"',
        ),
        (
            {"restartPolicy": "Never", "restartPolicyRules": [RULE] * 21},
            "c[0].restartPolicyRules: Too many: 21: must have at most 20 items",
        ),
    ],
)
def test_validate_containers_reports_single_error(parts: dict, fault: str):
    assert faults(container(**parts)) == [fault]


def test_validate_containers_requires_unique_dns_labels_as_names():
    first, second = faults(container(), container(), container(name="A"))
    assert first == 'c[1].name: Duplicate value: "c"'
    assert second.startswith('c[2].name: Invalid value: "A": a lowercase RFC 1123 label must consist')


def test_validate_containers_reports_empty_names_as_duplicates():
    assert faults(container(name=""), container(name="")) == [
        "c[0].name: Required value",
        "c[1].name: Required value",
        'c[1].name: Duplicate value: ""',
    ]


def test_validate_init_containers_skips_duplicate_empty_names():
    assert init_faults(container(name=""), container(name="")) == [
        "c[0].name: Required value",
        "c[1].name: Required value",
    ]


def test_validate_containers_accepts_same_host_port_of_other_protocol_or_address():
    ports = [
        {"containerPort": 1, "hostPort": 8},
        {"containerPort": 1, "hostPort": 8, "protocol": "UDP"},
        {"containerPort": 1, "hostPort": 8, "hostIP": "1.1.1.1"},
    ]
    assert faults(container(ports=ports)) == []


def test_validate_containers_rejects_restart_container_resize_policy_without_restarts():
    policy = [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]
    assert faults(container(resizePolicy=policy), restartPolicy="Never") == [
        "c[0].resizePolicy: Invalid value: \"RestartContainer\": must be 'NotRequired' when `restartPolicy` is 'Never'"
    ]


# -- init containers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "part",
    [{"lifecycle": {"preStop": EXEC}}, {"livenessProbe": EXEC}, {"readinessProbe": EXEC}, {"startupProbe": EXEC}],
)
def test_validate_init_containers_accepts_probes_and_lifecycle_of_sidecars_only(part: dict):
    (name,) = part
    init = {"name": "init", "image": "i", **part}
    assert init_faults(init) == [
        f"c[0].{name}: Forbidden: may not be set for init containers without restartPolicy=Always"
    ]
    assert init_faults({**init, "restartPolicy": "Always"}) == []


def test_validate_init_containers_rejects_restart_container_resize_policy():
    policies = [
        {"resourceName": "cpu", "restartPolicy": "NotRequired"},
        {"resourceName": "memory", "restartPolicy": "RestartContainer"},
    ]
    init = {"name": "init", "image": "i", "resizePolicy": policies}
    assert init_faults(init) == [
        (
            'c[0].resizePolicy[1].restartPolicy: Invalid value: "RestartContainer": '
            "must not be set to 'RestartContainer' for non-sidecar initContainers"
        )
    ]
    assert init_faults({**init, "restartPolicy": "Always"}) == []


def test_validate_init_containers_rejects_names_of_containers():
    assert init_faults({"name": "c", "image": "i"}) == ['c[0].name: Duplicate value: "c"']


def test_validate_init_containers_accepts_shared_host_ports():
    port = {"containerPort": 1, "hostPort": 8}
    assert init_faults(*({"name": name, "image": "i", "ports": [dict(port)]} for name in ("x", "y"))) == []


# -- ephemeral containers ---------------------------------------------------------------------------------------------


def test_validate_ephemeral_containers_accepts_valid_container():
    assert ephemeral_faults(targetContainerName="c", stdin=True, tty=True) == []


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        ({"ports": [{"containerPort": 1}]}, "ports"),
        ({"livenessProbe": EXEC}, "livenessProbe"),
        ({"lifecycle": {"preStop": EXEC}}, "lifecycle"),
        ({"resources": {"limits": {"cpu": "1"}}}, "resources"),
        ({"restartPolicy": "Always"}, "restartPolicy"),
    ],
)
def test_validate_ephemeral_containers_rejects_other_fields(parts: dict, name: str):
    assert f"c[0].{name}: Forbidden: cannot be set for an Ephemeral Container" in ephemeral_faults(**parts)


def test_validate_ephemeral_containers_rejects_an_empty_lifecycle_but_not_empty_resources():
    assert ephemeral_faults(lifecycle={}, resources={}) == [
        "c[0].lifecycle: Forbidden: cannot be set for an Ephemeral Container"
    ]


def test_validate_ephemeral_containers_reports_fields_in_the_order_of_the_type():
    probe = {"exec": {"command": ["a"]}}
    faults = ephemeral_faults(
        startupProbe=probe,
        readinessProbe=probe,
        resources={"limits": {"cpu": "1"}},
        ports=[{"containerPort": 1, "protocol": "TCP"}],
    )
    assert [fault.partition(":")[0] for fault in faults] == [
        "c[0].ports",
        "c[0].resources",
        "c[0].readinessProbe",
        "c[0].startupProbe",
    ]


def test_validate_ephemeral_containers_requires_existing_target():
    assert ephemeral_faults(targetContainerName="x") == ['c[0].targetContainerName: Not found: "x"']


def test_validate_ephemeral_containers_rejects_sub_path_mounts():
    mount = {"name": "v", "mountPath": "/m", "subPath": "s"}
    assert "c[0].volumeMounts[0].subPath: Forbidden: cannot be set for an Ephemeral Container" in ephemeral_faults(
        volumeMounts=[mount]
    )


def test_check_image_padding_rejects_whitespace():
    assert error_texts(check_image_padding({"image": "i "}, C)) == [
        'c.image: Invalid value: "i ": must not have leading or trailing whitespace'
    ]
