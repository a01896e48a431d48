"""Validation of whole Pod specs and templates."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import error_texts, pod_spec, template

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.shared.podspec.rules import PodRules
from steersman.apiserver.kinds.shared.podspec.validate import (
    validate_only_for_pods,
    validate_pod_annotations,
    validate_pod_spec,
    validate_pod_template,
)

P = Path("spec")
POD = PodRules(is_pod=True, pod_name="a")


def faults(rules: PodRules = POD, **spec: object) -> list[str]:
    return error_texts(validate_pod_spec(pod_spec(**spec), P, rules))


def test_validate_pod_spec_accepts_valid_spec():
    assert faults() == []


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ({"containers": []}, "spec.containers: Required value"),
        (
            {"restartPolicy": "Perhaps"},
            'spec.restartPolicy: Unsupported value: "Perhaps": supported values: "Always", "OnFailure", "Never"',
        ),
        (
            {"dnsPolicy": "Mine"},
            (
                'spec.dnsPolicy: Unsupported value: "Mine": '
                'supported values: "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"'
            ),
        ),
        (
            {"activeDeadlineSeconds": 0},
            "spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive",
        ),
        (
            {"preemptionPolicy": "X"},
            'spec.preemptionPolicy: Unsupported value: "X": supported values: "PreemptLowerPriority", "Never"',
        ),
        (
            {"overhead": {"storage": "1"}},
            'spec.overhead.limits[storage]: Invalid value: "storage": must be a standard resource for containers',
        ),
        (
            {"overhead": {"cpu": "-1"}},
            'spec.overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0',
        ),
        ({"dnsPolicy": "None"}, "spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"),
        (
            {"dnsPolicy": "None", "dnsConfig": {}},
            "spec.dnsConfig.nameservers: Required value: must provide at least one DNS nameserver when `dnsPolicy` is None",
        ),
        (
            {"dnsConfig": {"nameservers": ["1.1.1.1"] * 4}},
            (
                'spec.dnsConfig.nameservers: Invalid value: ["1.1.1.1","1.1.1.1","1.1.1.1","1.1.1.1"]: '
                "must not have more than 3 nameservers"
            ),
        ),
        ({"dnsConfig": {"options": [{"value": "1"}]}}, "spec.dnsConfig.options[0]: Required value: must not be empty"),
        ({"hostUsers": False, "hostPID": True}, "spec.HostPID: Forbidden: when `hostUsers` is false"),
        ({"hostUsers": False, "hostNetwork": True}, "spec.hostNetwork: Forbidden: when `hostUsers` is false"),
        (
            {
                "hostUsers": False,
                "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}],
                "containers": [{"name": "c", "image": "i", "volumeDevices": [{"name": "v", "devicePath": "/d"}]}],
            },
            "spec.containers[0].volumeDevices: Forbidden: when `hostUsers` is false",
        ),
        (
            {"hostnameOverride": "a", "hostNetwork": True},
            "spec.hostnameOverride: Forbidden: may not be specified when hostNetwork is true",
        ),
        (
            {"hostnameOverride": "a", "setHostnameAsFQDN": True},
            "spec.hostnameOverride: Forbidden: may not be specified when setHostnameAsFQDN is true",
        ),
        ({"hostnameOverride": "a" * 65}, "spec.hostnameOverride: Too long: may not be more than 64 bytes"),
        ({"resourceClaims": [{"resourceClaimName": "x"}]}, "spec.resourceClaims[0].name: Required value"),
        (
            {"resourceClaims": [{"name": "x"}]},
            (
                "spec.resourceClaims[0]: Invalid value: "
                '{"Name":"x","ResourceClaimName":null,"ResourceClaimTemplateName":null}: '
                "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            ),
        ),
    ],
)
def test_validate_pod_spec_reports_single_error(spec: dict, fault: str):
    assert faults(**spec) == [fault]


@pytest.mark.parametrize(
    "name", ["serviceAccountName", "nodeName", "priorityClassName", "runtimeClassName", "hostname"]
)
def test_validate_pod_spec_requires_dns_names_of_references(name: str):
    (fault,) = faults(**{name: "A_b"})
    assert fault.startswith(f'spec.{name}: Invalid value: "A_b": a lowercase RFC 1123 ')


@pytest.mark.parametrize("search", ["a.b", "a.b.", ".", "_srv.a"])
def test_validate_pod_spec_accepts_underscore_in_search_paths(search: str):
    assert faults(dnsConfig={"searches": [search]}) == []


@pytest.mark.parametrize("rules", [PodRules(is_pod=True), PodRules()], ids=["pod", "template"])
def test_validate_pod_spec_requires_equal_host_ports_with_host_network(rules: PodRules):
    container = {"name": "c", "image": "i", "ports": [{"containerPort": 80, "hostPort": 81}]}
    assert faults(rules, hostNetwork=True, containers=[container]) == [
        "spec.containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when `hostNetwork` is true"
    ]


def test_validate_pod_template_accepts_omitted_host_ports():
    container = {"name": "c", "image": "i", "ports": [{"containerPort": 80}]}
    assert faults(PodRules(), hostNetwork=True, containers=[container]) == []


def test_validate_pod_spec_requires_ip_and_hostnames_of_host_aliases():
    first, second = faults(hostAliases=[{"ip": "x", "hostnames": ["a.b", "A"]}])
    assert first.startswith('spec.hostAliases[0].ip: Invalid value: "x": must be a valid IP address')
    assert second.startswith('spec.hostAliases[0].hostnames[1]: Invalid value: "A"')


# -- templates --------------------------------------------------------------------------------------------------------


def test_validate_pod_template_accepts_valid_template():
    assert error_texts(validate_pod_template(template(), Path("template"))) == []


def test_validate_pod_template_rejects_ephemeral_containers():
    whole = template(ephemeralContainers=[{"name": "e", "image": "i"}])
    assert error_texts(validate_pod_template(whole, Path("template"))) == [
        "template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template"
    ]


def test_validate_pod_template_checks_labels():
    whole = {**template(), "metadata": {"labels": {"x": "not a label"}}}
    (fault,) = error_texts(validate_pod_template(whole, Path("template")))
    assert fault.startswith('template.labels: Invalid value: "not a label"')


# -- annotations and rules for Pods only ---------------------------------------------------------------------------


@pytest.mark.parametrize("cost", ["0", "-1", "-0", "-05", "2147483647", "-2147483648"])
def test_validate_pod_annotations_requires_integer_deletion_cost(cost: str):
    assert error_texts(validate_pod_annotations({"controller.kubernetes.io/pod-deletion-cost": cost}, {}, P)) == []


@pytest.mark.parametrize("cost", ["", "01", "+1", "1.5", "2147483648", "a"])
def test_validate_pod_annotations_requires_canonical_int32_deletion_cost(cost: str):
    name = "controller.kubernetes.io/pod-deletion-cost"
    assert error_texts(validate_pod_annotations({name: cost}, {}, P)) == [
        f'spec[{name}]: Invalid value: "{cost}": must be a 32bit integer'
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('[{"key": "a", "operator": "Exists"}]', ""),
        ("x", 'spec: Invalid value: "scheduler.alpha.kubernetes.io/tolerations": '),
        (
            '[{"key": 5}]',
            'spec: Invalid value: "scheduler.alpha.kubernetes.io/tolerations": json: cannot unmarshal number',
        ),
        (
            '[{"key": "a", "operator": "Near"}]',
            'spec.scheduler.alpha.kubernetes.io/tolerations[0].operator: Unsupported value: "Near"',
        ),
    ],
)
def test_validate_pod_annotations_checks_tolerations(text: str, fault: str):
    errors = error_texts(validate_pod_annotations({"scheduler.alpha.kubernetes.io/tolerations": text}, {}, P))
    assert [error[: len(fault)] for error in errors] == ([fault] if fault else [])


def test_validate_pod_annotations_requires_node_name_of_mirror_pods():
    name = "kubernetes.io/config.mirror"
    assert error_texts(validate_pod_annotations({name: "x"}, {}, P)) == [
        f'spec[{name}]: Invalid value: "x": must set spec.nodeName if mirror pod annotation is set'
    ]
    assert error_texts(validate_pod_annotations({name: "x"}, {"nodeName": "n"}, P)) == []


def test_validate_only_for_pods_rejects_token_without_service_account():
    volume = {"name": "v", "projected": {"sources": [{"configMap": {}}, {"serviceAccountToken": {"path": "t"}}]}}
    assert error_texts(validate_only_for_pods({"volumes": [volume]}, P)) == [
        (
            "spec.volumes[0].projected.sources[1].serviceAccountToken: Forbidden: "
            "must not be specified when serviceAccountName is not set"
        )
    ]
    assert error_texts(validate_only_for_pods({"serviceAccountName": "a", "volumes": [volume]}, P)) == []


@pytest.mark.parametrize("kind", ["containers", "initContainers"])
def test_validate_only_for_pods_rejects_whitespace_around_images(kind: str):
    assert error_texts(validate_only_for_pods({kind: [{"image": " i"}]}, P)) == [
        f'spec.{kind}[0].image: Invalid value: " i": must not have leading or trailing whitespace'
    ]
