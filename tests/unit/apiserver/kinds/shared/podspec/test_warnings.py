"""Warnings about valid Pods."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.apiserver.kinds.objects import pod, template

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.shared.podspec.warnings import (
    claim_spec_warnings,
    fraction_warnings,
    pod_warnings,
    template_warnings,
)

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
ZONE = "failure-domain.beta.kubernetes.io/zone"
OLD_ZONE = 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
NULL = "a null labelSelector results in matching no pod"


def of_pod(metadata: dict | None = None, **spec: object) -> list[str]:
    return list(pod_warnings(pod(metadata, **spec)))


def ports(*arguments: dict) -> dict:
    return {"containers": [{"name": "c", "image": "i", "ports": list(arguments)}]}


def test_pod_warnings_is_empty_for_usual_pod():
    assert of_pod() == []


def test_pod_warnings_about_name_that_is_no_dns_label():
    (warning,) = of_pod({"name": "a.b"})
    assert warning.startswith(
        "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior"
    )


@pytest.mark.parametrize(
    ("spec", "warning"),
    [
        ({"nodeSelector": {ZONE: "a"}}, f"spec.nodeSelector[{ZONE}]: {OLD_ZONE}"),
        (
            {
                "affinity": {
                    "nodeAffinity": {
                        REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [{"key": ZONE, "operator": "Exists"}]}]}
                    }
                }
            },
            f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0].key: {ZONE} is {OLD_ZONE}",
        ),
        (
            {"topologySpreadConstraints": [{"topologyKey": ZONE, "labelSelector": {}}]},
            f"spec.topologySpreadConstraints[0].topologyKey: {ZONE} is {OLD_ZONE}",
        ),
        (
            {"topologySpreadConstraints": [{"topologyKey": "zone"}]},
            f"spec.topologySpreadConstraints[0].labelSelector: {NULL}",
        ),
        (
            {"affinity": {"podAffinity": {REQUIRED: [{"topologyKey": "t"}]}}},
            f"spec.affinity.podAffinity.{REQUIRED}[0].labelSelector: {NULL}",
        ),
        (
            {"affinity": {"podAntiAffinity": {PREFERRED: [{"weight": 1, "podAffinityTerm": {"topologyKey": "t"}}]}}},
            f"spec.affinity.podAntiAffinity.{PREFERRED}[0].podAffinityTerm.labelSelector: {NULL}",
        ),
        ({"hostAliases": [{"ip": "1.1.1.1"}] * 2}, 'spec.hostAliases[1].ip: duplicate ip "1.1.1.1"'),
        ({"imagePullSecrets": [{"name": "a"}] * 2}, 'spec.imagePullSecrets[1].name: duplicate name "a"'),
        ({"imagePullSecrets": [{"name": ""}]}, 'spec.imagePullSecrets[0].name: invalid empty name ""'),
        (
            {"terminationGracePeriodSeconds": -1},
            "spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1",
        ),
        (
            {"overhead": {"memory": "1500m"}},
            'spec.overhead[memory]: fractional byte value "1500m" is invalid, must be an integer',
        ),
        (
            ports({"containerPort": 80, "hostIP": "1.1.1.1"}),
            (
                "spec.containers[0].ports[0]: hostIP set without hostPort: "
                "{Name: HostPort:0 ContainerPort:80 Protocol:TCP HostIP:1.1.1.1}"
            ),
        ),
        (
            ports({"containerPort": 80}, {"containerPort": 80}),
            "spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]",
        ),
        (
            ports({"containerPort": 80}, {"containerPort": 80, "hostPort": 8}),
            "spec.containers[0].ports[1]: overlapping port definition with spec.containers[0].ports[0]",
        ),
        (
            ports({"containerPort": 80, "hostPort": 8}, {"containerPort": 80, "hostPort": 8, "hostIP": "1.1.1.1"}),
            "spec.containers[0].ports[1]: dangerously ambiguous port definition with spec.containers[0].ports[0]",
        ),
        (
            {
                "containers": [
                    {"name": "c", "image": "i", "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]}
                ]
            },
            'spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply',
        ),
        (
            {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"memory": "100m"}}}]},
            'spec.containers[0].resources.requests[memory]: fractional byte value "100m" is invalid, must be an integer',
        ),
        (
            {"volumes": [{"name": "v", "gitRepo": {"repository": "r"}}]},
            "spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+",
        ),
        (
            {"volumes": [{"name": "v", "storageos": {}}]},
            "spec.volumes[0].storageOS: deprecated in v1.22, non-functional in v1.25+",
        ),
    ],
)
def test_pod_warnings_about_deprecated_duplicate_and_ineffective_fields(spec: dict, warning: str):
    assert of_pod(**spec) == [warning]


@pytest.mark.parametrize("name", ["security.alpha.kubernetes.io/sysctls", "scheduler.alpha.kubernetes.io/critical-pod"])
def test_pod_warnings_about_ineffective_annotations(name: str):
    (warning,) = of_pod({"annotations": {name: ""}})
    assert warning.startswith(f"metadata.annotations[{name}]: non-functional in v1.1")


def test_pod_warnings_skip_variable_that_extends_itself():
    variables = [{"name": "PATH", "value": "/a"}, {"name": "PATH", "value": "$(PATH):/b"}]
    assert of_pod(containers=[{"name": "c", "image": "i", "env": variables}]) == []


def test_pod_warnings_about_duplicate_port_names_of_concurrent_containers():
    named = {"image": "i", "ports": [{"name": "http", "containerPort": 1}]}
    other = {"image": "i", "ports": [{"name": "http", "containerPort": 2}]}
    (warning,) = of_pod(containers=[{"name": "c", **named}, {"name": "d", **other}])
    assert warning.startswith(
        'spec.containers[1].ports[0]: duplicate port name "http" with spec.containers[0].ports[0]'
    )
    assert of_pod(containers=[{"name": "c", **named}], initContainers=[{"name": "d", **other}]) == []


def test_template_warnings_have_path_of_template():
    obj = {**template(nodeSelector={ZONE: "a"}), "metadata": {"annotations": {}}}
    assert list(template_warnings(obj, Path("spec", "template"))) == [
        f"spec.template.spec.nodeSelector[{ZONE}]: {OLD_ZONE}"
    ]


def test_template_warnings_about_app_armor_annotations():
    name = "container.apparmor.security.beta.kubernetes.io/c"
    obj = {**template(), "metadata": {"annotations": {name: "unconfined"}}}
    assert list(template_warnings(obj, Path("template"))) == [
        f'template.metadata.annotations[{name}]: deprecated since v1.30; use the "appArmorProfile" field instead'
    ]


@pytest.mark.parametrize(("kind", "count"), [("Unconfined", 0), ("RuntimeDefault", 1)])
def test_template_warnings_skip_annotation_equal_to_field(kind: str, count: int):
    name = "container.apparmor.security.beta.kubernetes.io/c"
    obj = template(securityContext={"appArmorProfile": {"type": kind}})
    obj["metadata"] = {"annotations": {name: "unconfined"}}
    assert len(list(template_warnings(obj, Path("template")))) == count


def test_pod_warnings_list_legacy_addresses_last():
    *_, last = of_pod(hostAliases=[{"ip": "1.2.3.04"}], terminationGracePeriodSeconds=-1)
    assert last.startswith("spec.hostAliases[0].ip: ")


def test_pod_warnings_about_invalid_values_of_preferred_node_terms():
    term = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b c"]}]}
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": term}]}
    (warning,) = of_pod(affinity={"nodeAffinity": preferred})
    assert ".preference.matchExpressions[0].values[0]: b c is invalid, a valid label must be" in warning


def test_pod_warnings_are_grouped_by_container():
    seccomp, armor = (
        "container.seccomp.security.alpha.kubernetes.io/",
        "container.apparmor.security.beta.kubernetes.io/",
    )
    annotations = {prefix + name: "" for prefix in (seccomp, armor) for name in "cd"}
    containers = [{"name": name, "image": "i", "resources": {"limits": {"memory": "1m"}}} for name in "cd"]
    obj = {**template(containers=containers), "metadata": {"annotations": annotations}}
    error_texts = [warning.split(": ")[0] for warning in template_warnings(obj, Path("t"))]
    assert error_texts == [
        path
        for position, name in enumerate("cd")
        for path in (
            f"t.metadata.annotations[{seccomp}{name}]",
            f"t.metadata.annotations[{armor}{name}]",
            f"t.spec.containers[{position}].resources.limits[memory]",
        )
    ]


def test_claim_spec_warnings_about_fractions_of_bytes():
    spec = {"resources": {"requests": {"storage": "1.5"}}}
    assert list(claim_spec_warnings(spec, Path("spec"))) == [
        'spec.resources.requests[storage]: fractional byte value "1.5" is invalid, must be an integer'
    ]


@pytest.mark.parametrize("amounts", [{}, {"memory": "1Gi"}, {"memory": "1000m"}, {"cpu": "100m"}])
def test_fraction_warnings_is_empty_for_whole_bytes(amounts: dict):
    assert list(fraction_warnings(amounts, "memory", Path("x"))) == []


_names = st.sampled_from(["", "a", "b"])
_ports = st.fixed_dictionaries(
    {"containerPort": st.sampled_from([80, 81])},
    optional={
        "name": _names,
        "protocol": st.sampled_from(["TCP", "UDP"]),
        "hostPort": st.sampled_from([0, 80]),
        "hostIP": st.sampled_from(["", "::1"]),
    },
)
_amounts = st.dictionaries(
    st.sampled_from(["cpu", "memory", "ephemeral-storage"]), st.sampled_from(["1", "100m", "1500m", "1.5", "2Gi"])
)
_containers = st.lists(
    st.fixed_dictionaries(
        {"name": _names, "image": _names},
        optional={
            "ports": st.lists(_ports, max_size=3),
            "env": st.lists(st.fixed_dictionaries({"name": _names, "value": st.sampled_from(["x", "$(a)", "y$(a)"])})),
            "resources": st.fixed_dictionaries({}, optional={"limits": _amounts, "requests": _amounts}),
            "restartPolicy": st.just("Always"),
        },
    ),
    max_size=2,
)
_specs = st.fixed_dictionaries(
    {"containers": _containers},
    optional={
        "initContainers": _containers,
        "ephemeralContainers": _containers,
        "terminationGracePeriodSeconds": st.sampled_from([None, 0, 30, -1]),
        "nodeSelector": st.sampled_from([{}, {ZONE: "a"}]),
        "imagePullSecrets": st.lists(st.fixed_dictionaries({}, optional={"name": _names}), max_size=2),
        "hostAliases": st.lists(st.just({"ip": "::1"}), max_size=2),
        "overhead": _amounts,
        "dnsConfig": st.just({"nameservers": ["010.0.0.1"]}),
        "volumes": st.lists(st.just({"name": "v", "gitRepo": {}}), max_size=1),
    },
)


@given(_specs)
def test_pod_warnings_do_not_depend_on_annotations_without_a_meaning(spec: dict):
    assert of_pod(**spec) == of_pod({"annotations": {"a": "b"}}, **spec)
