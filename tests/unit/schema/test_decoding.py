from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apimachinery.codec import DecodeError
from steersman.schema.decoding import decode, zero
from steersman.schema.loader import struct, struct_for
from steersman.schema.openapi_types import from_openapi

CONFIG_MAP = struct_for("", "v1", "ConfigMap")
SECRET = struct_for("", "v1", "Secret")
SERVICE = struct_for("", "v1", "Service")
POD = struct_for("", "v1", "Pod")
ROLE = struct_for("rbac.authorization.k8s.io", "v1", "Role")
DEPLOYMENT = struct_for("apps", "v1", "Deployment")
CRD = struct_for("apiextensions.k8s.io", "v1", "CustomResourceDefinition")


def decoded(type_, tree):
    return decode(type_, tree).tree


def part(definition, tree):
    """Return the decoded tree of a type of `core/v1`."""
    return decoded(struct(f"io.k8s.api.core.v1.{definition}"), tree)


def test_decode_canonicalizes_quantities():
    limits = {"cpu": 0.5, "memory": "1024Mi", "pods": None}
    assert part("ResourceRequirements", {"limits": limits}) == {"limits": {"cpu": "500m", "memory": "1Gi", "pods": "0"}}
    assert part("ResourceFieldSelector", {"resource": "limits.cpu"}) == {"resource": "limits.cpu", "divisor": "0"}
    assert part("EmptyDirVolumeSource", {"sizeLimit": "0"}) == {"sizeLimit": "0"}


def test_decode_keeps_a_canonical_object():
    tree = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}}
    assert decode(CONFIG_MAP, tree) == (tree, [])


def test_decode_drops_and_reports_unknown_fields():
    tree = {
        "metadata": {"name": "a", "Labels": {}},
        "spec": {"ports": [{"port": 80, "prot": "x"}], "typo": 1},
        "extra": 1,
    }
    result = decode(SERVICE, tree)
    assert result.unknown == ["metadata.Labels", "spec.ports[0].prot", "spec.typo", "extra"]
    assert result.tree["metadata"] == {"name": "a"}
    assert result.tree["spec"] == {"ports": [{"port": 80, "targetPort": 0}]}


def test_decode_reports_unknown_fields_below_a_map_with_its_key():
    tree = {"properties": {"a.b": {"typo": 1}}}
    assert decode(struct_for("apiextensions.k8s.io", "v1", "JSONSchemaProps"), tree).unknown == ["properties.a.b.typo"]


def test_decode_reports_at_most_a_hundred_unknown_fields():
    assert len(decode(CONFIG_MAP, {f"x{number}": 1 for number in range(200)}).unknown) == 100


def test_decode_treats_null_fields_as_absent():
    tree = {"metadata": None, "data": None, "immutable": None}
    assert decoded(CONFIG_MAP, tree) == {"metadata": {}}


def test_decode_replaces_null_items_by_zero_values():
    assert decoded(CONFIG_MAP, {"data": {"k": None}})["data"] == {"k": ""}
    assert decoded(SECRET, {"data": {"k": None}})["data"] == {"k": ""}
    assert decoded(SERVICE, {"spec": {"ports": [None]}})["spec"]["ports"] == [{"port": 0, "targetPort": 0}]
    assert part("Container", {"name": "c", "args": [None, "x"]})["args"] == ["", "x"]


def test_decode_keeps_explicit_zeros_of_pointers_only():
    assert decoded(DEPLOYMENT, {"spec": {"replicas": 0, "paused": False, "minReadySeconds": 0}})["spec"] == {
        "replicas": 0,
        "selector": None,
        "strategy": {},
        "template": {"metadata": {}, "spec": {"containers": None}},
    }


def test_decode_keeps_empty_strings_of_pointers_only():
    tree = part("PersistentVolumeClaimSpec", {"storageClassName": "", "volumeName": ""})
    assert tree == {"storageClassName": "", "resources": {}}


def test_decode_drops_empty_lists_and_maps():
    assert decoded(CONFIG_MAP, {"metadata": {"labels": {}, "finalizers": []}, "data": {}}) == {"metadata": {}}


def test_decode_sets_empty_lists_without_omitempty_to_null():
    assert decoded(ROLE, {"rules": []}) == {"metadata": {}, "rules": None}
    assert decoded(ROLE, {}) == {"metadata": {}, "rules": None}


def test_decode_adds_structs_held_by_value():
    assert decoded(SERVICE, {}) == {"metadata": {}, "spec": {}, "status": {"loadBalancer": {}}}


def test_decode_keeps_an_empty_struct_held_by_pointer():
    assert part("PodSpec", {"containers": [{"name": "c"}], "securityContext": {}}) == {
        "containers": [{"name": "c", "resources": {}}],
        "securityContext": {},
    }


def test_decode_sets_unset_times_held_by_value_to_null():
    assert part("PodCondition", {"type": "Ready", "status": "True"}) == {
        "type": "Ready",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": None,
    }
    assert decoded(CONFIG_MAP, {"metadata": {"creationTimestamp": None}}) == {"metadata": {}}


def test_zero_is_the_encoding_of_the_zero_value():
    assert zero(struct_for("apps", "v1", "ReplicaSet"))["status"] == {"replicas": 0}


def test_decode_does_not_mutate_the_tree():
    tree = {"metadata": {"labels": {}}, "spec": {"ports": [None, {"port": 1, "x": 1}]}}
    before = copy.deepcopy(tree)
    decode(SERVICE, tree)
    assert tree == before


def test_decode_returns_new_containers():
    first, second = decoded(SERVICE, {}), decoded(SERVICE, {})
    first["status"]["loadBalancer"]["ingress"] = []
    assert second["status"] == {"loadBalancer": {}}


@pytest.mark.parametrize("value", [2**31, -(2**31) - 1, 2.0, True, "1", [], {}])
def test_decode_rejects_values_outside_int32(value):
    with pytest.raises(DecodeError):
        decode(DEPLOYMENT, {"spec": {"replicas": value}})


@pytest.mark.parametrize("value", [2**31 - 1, -(2**31), 0])
def test_decode_accepts_the_bounds_of_int32(value):
    assert decoded(DEPLOYMENT, {"spec": {"replicas": value}})["spec"]["replicas"] == value


def test_decode_accepts_int_or_string():
    ports = [{"port": 1, "targetPort": "http"}, {"port": 2, "targetPort": 8080}]
    assert decoded(SERVICE, {"spec": {"ports": ports}})["spec"]["ports"] == ports


def test_decode_keeps_raw_objects():
    data = {"any": [None, {"x": 0.5}], "empty": {}}
    assert decoded(struct_for("apps", "v1", "ControllerRevision"), {"data": data, "revision": 1})["data"] == data
    assert decoded(struct_for("apps", "v1", "ControllerRevision"), {"revision": 1})["data"] is None


def test_decode_accepts_alternatives_of_json_schema_fields():
    schema = {
        "type": "object",
        "nullable": False,
        "maximum": 2.0,
        "default": {"a": None},
        "properties": {
            "a": {"additionalProperties": True},
            "b": {"additionalProperties": {"type": "string", "typo": 1, "items": {"type": "string"}}},
            "c": {"items": [{"type": "string"}], "dependencies": {"x": ["y"], "z": {"type": "string"}}},
        },
    }
    result = decode(struct_for("apiextensions.k8s.io", "v1", "JSONSchemaProps"), schema)
    assert result.unknown == []
    assert result.tree == {
        "type": "object",
        "maximum": 2,
        "default": {"a": None},
        "properties": {
            "a": {"additionalProperties": True},
            "b": {"additionalProperties": {"type": "string", "items": {"type": "string"}}},
            "c": {"items": [{"type": "string"}], "dependencies": {"x": ["y"], "z": {"type": "string"}}},
        },
    }


def test_decode_keeps_preserved_unknown_fields():
    type_ = from_openapi({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, "Free")
    assert decode(type_, {"anything": {"x": 1}}) == ({"anything": {"x": 1}}, [])


@pytest.mark.parametrize("tree", [None, [], "x", 1])
def test_decode_rejects_other_types_than_objects(tree):
    with pytest.raises(DecodeError):
        decode(CONFIG_MAP, tree)


keys = st.sampled_from(
    [*POD.fields, *struct("io.k8s.api.core.v1.PodSpec").fields, *struct("io.k8s.api.core.v1.Container").fields, "x"]
)
json_trees = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(keys, below, max_size=4),
    max_leaves=15,
)


def outcome(tree):
    try:
        return decoded(POD, tree)
    except DecodeError:
        return {}


@given(json_trees)
def test_decode_is_idempotent(tree):
    once = decoded(POD, outcome(tree))
    assert decode(POD, once) == (once, [])
    assert json.loads(json.dumps(once)) == once


def test_decode_returns_a_new_tree_for_a_cached_spec() -> None:
    pod = {"spec": {"containers": [{"name": "c", "resources": {}}]}}
    first = decode(POD, decode(POD, pod).tree).tree
    second = decode(POD, first).tree
    second["spec"]["containers"][0]["name"] = "changed"
    assert decode(POD, first).tree["spec"]["containers"][0]["name"] == "c"


def test_decode_reports_unknown_fields_of_a_spec_each_time() -> None:
    pod = {"spec": {"containers": [{"name": "c", "resources": {}, "mistake": 1}]}}
    unknown = [decode(POD, pod).unknown for _ in range(2)]
    assert unknown == [["spec.containers[0].mistake"]] * 2


@pytest.mark.parametrize("subresources", [{}, {"status": {}}, {"scale": {"specReplicasPath": ".spec.n"}}])
def test_decode_adds_no_status_subresource_to_a_definition(subresources):
    version = {"name": "v1", "subresources": subresources}
    definition = struct_for("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    decoded = decode(definition, {"spec": {"versions": [version]}}).tree
    assert ("status" in decoded["spec"]["versions"][0]["subresources"]) is ("status" in subresources)
