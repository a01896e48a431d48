"""Rules of metadata, with paths and messages."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.apimachinery import metadata_validation as validation
from steersman.apimachinery import names
from steersman.apimachinery.field import Path

OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u1"}


def create_errors(metadata: dict[str, Any], *, namespaced: bool = True) -> list[str]:
    errors = validation.validate_object_meta(metadata, namespaced=namespaced, name_rule=names.name_is_dns_subdomain)
    return [str(error) for error in errors]


def update_errors(new: dict[str, Any], old: dict[str, Any]) -> list[str]:
    return [str(error) for error in validation.validate_object_meta_update(new, old)]


def test_validate_object_meta_accepts_valid_metadata() -> None:
    metadata = {
        "name": "a",
        "namespace": "n",
        "generateName": "a-",
        "generation": 1,
        "labels": {"A_b.c-d": "", "example.com/X": "1.2_a-B"},
        "annotations": {"Example.com/B_c": "any text\nü"},
        "finalizers": ["example.com/a", "example.com/a"],
        "ownerReferences": [{**OWNER, "controller": True}, {**OWNER, "uid": "u2", "controller": False}],
        "managedFields": [{"manager": "m", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": {}}],
    }
    assert create_errors(metadata) == []
    assert update_errors({**metadata, "resourceVersion": "1"}, metadata) == []


def test_validate_object_meta_requires_a_name() -> None:
    assert create_errors({"namespace": "n"}) == ["metadata.name: Required value: name or generateName is required"]


def test_validate_object_meta_applies_the_name_rule() -> None:
    errors = create_errors({"namespace": "n", "generateName": "Gen_", "name": "Gen_x"})
    assert [error.split(": a lower")[0] for error in errors] == [
        'metadata.generateName: Invalid value: "Gen_"',
        'metadata.name: Invalid value: "Gen_x"',
    ]


def test_validate_object_meta_requires_a_namespace() -> None:
    assert create_errors({"name": "a"}) == ["metadata.namespace: Required value"]
    assert create_errors({"name": "a", "namespace": "a.b"}) == [
        'metadata.namespace: Invalid value: "a.b": must not contain dots'
    ]


def test_validate_object_meta_rejects_a_namespace_of_cluster_scoped_kinds() -> None:
    assert create_errors({"name": "a", "namespace": "n"}, namespaced=False) == [
        "metadata.namespace: Forbidden: not allowed on this type"
    ]


def test_validate_object_meta_rejects_a_negative_generation() -> None:
    assert create_errors({"name": "a", "namespace": "n", "generation": -1}) == [
        "metadata.generation: Invalid value: -1: must be greater than or equal to 0"
    ]


def test_validate_labels_checks_keys_and_values() -> None:
    errors = create_errors({"name": "a", "namespace": "n", "labels": {"/b": "x", "c": "-x"}})
    assert errors[0] == 'metadata.labels: Invalid value: "/b": prefix part must be non-empty'
    assert errors[1].startswith('metadata.labels: Invalid value: "-x": a valid label must be an empty string')


def test_validate_annotations_bounds_the_total_size() -> None:
    size = 256 * 1024 - 2
    assert create_errors({"name": "a", "namespace": "n", "annotations": {"k": "x" * size, "l": ""}}) == []
    assert create_errors({"name": "a", "namespace": "n", "annotations": {"k": "x" * size, "l": "y"}}) == [
        "metadata.annotations: Too long: may not be more than 262144 bytes"
    ]


def test_validate_annotations_requires_qualified_names() -> None:
    errors = create_errors({"name": "a", "namespace": "n", "annotations": {"a b": "x"}})
    assert errors[0].startswith('metadata.annotations: Invalid value: "a b": name part must consist of')


def test_validate_owner_references_requires_complete_references() -> None:
    assert create_errors({"name": "a", "namespace": "n", "ownerReferences": [{}]}) == [
        'metadata.ownerReferences.apiVersion: Invalid value: "": version must not be empty',
        'metadata.ownerReferences.kind: Invalid value: "": must not be empty',
        'metadata.ownerReferences.name: Invalid value: "": must not be empty',
        'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
    ]


def test_validate_owner_references_rejects_malformed_versions() -> None:
    assert create_errors({"name": "a", "namespace": "n", "ownerReferences": [{**OWNER, "apiVersion": "a/b/c"}]}) == [
        'metadata.ownerReferences.apiVersion: Invalid value: "a/b/c": version must not be empty'
    ]


def test_validate_owner_references_accepts_one_controller() -> None:
    references = [{**OWNER, "controller": True}, {"controller": True, **OWNER, "name": "q", "uid": "u2"}]
    assert create_errors({"name": "a", "namespace": "n", "ownerReferences": references}) == [
        (
            "metadata.ownerReferences: Invalid value: "
            '[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u1","controller":true},'
            '{"apiVersion":"v1","kind":"Pod","name":"q","uid":"u2","controller":true}]: '
            'Only one reference can have Controller set to true. Found "true" in references for Pod/p and Pod/q'
        )
    ]


def test_validate_owner_references_rejects_events_as_owners() -> None:
    reference = {"apiVersion": "v1", "kind": "Event", "name": "e", "uid": "u1"}
    assert create_errors({"name": "a", "namespace": "n", "ownerReferences": [reference]}) == [
        (
            'metadata.ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event","name":"e","uid":"u1"}: '
            "/v1, Kind=Event is disallowed from being an owner"
        )
    ]


def test_validate_finalizers_requires_qualified_names() -> None:
    errors = create_errors({"name": "a", "namespace": "n", "finalizers": ["example.com/a b"]})
    assert errors[0].startswith('metadata.finalizers: Invalid value: "example.com/a b": name part must consist of')


def test_validate_finalizers_rejects_contradictions() -> None:
    assert create_errors({"name": "a", "namespace": "n", "finalizers": ["orphan", "foregroundDeletion"]}) == [
        (
            'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: '
            "finalizer orphan and foregroundDeletion cannot be both set"
        )
    ]


def test_validate_standard_finalizers_accepts_three_without_domain() -> None:
    errors = validation.validate_standard_finalizers(["kubernetes", "orphan", "example.com/a", "nonsense"])
    assert [str(error) for error in errors] == [
        'metadata.finalizers[3]: Invalid value: "nonsense": name is neither a standard finalizer name nor is it fully qualified'
    ]


def test_validate_managed_fields_checks_entries() -> None:
    entry = {"manager": "a\tb", "operation": "Create", "fieldsType": "FieldsV2", "subresource": "s" * 257}
    assert create_errors({"name": "a", "namespace": "n", "managedFields": [entry]}) == [
        'metadata.managedFields[0].operation: Invalid value: "Create": must be `Apply` or `Update`',
        'metadata.managedFields[0].fieldsType: Invalid value: "FieldsV2": must be `FieldsV1`',
        'metadata.managedFields[0].manager: Invalid value: "a\\tb": invalid character U+0009 (at position 1)',
        "metadata.managedFields[0].subresource: Too long: may not be more than 256 bytes",
    ]


def test_validate_field_manager_bounds_the_length() -> None:
    errors = validation.validate_field_manager("é" * 65, Path("fieldManager"))
    assert [str(error) for error in errors] == ["fieldManager: Too long: may not be more than 128 bytes"]


def test_validate_object_meta_update_requires_a_resource_version() -> None:
    assert update_errors({"name": "a"}, {"name": "a"}) == [
        'metadata.resourceVersion: Invalid value: "": must be specified for an update'
    ]


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("name", "b", '"b"'),
        ("namespace", "other", '"other"'),
        ("uid", "11111111-2222-3333-4444-555555555555", '"11111111-2222-3333-4444-555555555555"'),
        ("creationTimestamp", "2020-01-01T00:00:00Z", '"2020-01-01T00:00:00Z"'),
        ("deletionTimestamp", "2040-01-01T00:00:00Z", '"2040-01-01T00:00:00Z"'),
        ("deletionGracePeriodSeconds", 0, "0"),
    ],
)
def test_validate_object_meta_update_rejects_changed_identity_and_times(name: str, value: Any, shown: str) -> None:
    old = {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "1"}
    assert update_errors({**old, name: value}, old) == [f"metadata.{name}: Invalid value: {shown}: field is immutable"]


def test_validate_object_meta_update_treats_null_as_absent() -> None:
    old = {"name": "a", "resourceVersion": "1"}
    assert update_errors({**old, "uid": "", "deletionTimestamp": None}, old) == []


def test_validate_object_meta_update_rejects_a_lower_generation() -> None:
    old = {"name": "a", "resourceVersion": "1", "generation": 3}
    assert update_errors({**old, "generation": 2}, old) == [
        "metadata.generation: Invalid value: 2: must not be decremented"
    ]


def test_validate_object_meta_update_rejects_new_finalizers_of_terminating_objects() -> None:
    old = {"name": "a", "resourceVersion": "1", "deletionTimestamp": "2020-01-01T00:00:00Z", "finalizers": ["e.x/one"]}
    assert update_errors({**old, "finalizers": ["e.x/two", "e.x/one"]}, old) == [
        (
            "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, "
            'found new finalizers []string{"e.x/two"}'
        )
    ]
    assert update_errors({**old, "finalizers": []}, old) == []
