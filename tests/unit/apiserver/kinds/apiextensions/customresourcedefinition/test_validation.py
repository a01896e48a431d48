from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import GONE, defaulted, edited, named, texts

from steersman.apimachinery import names
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.strategy import CustomResourceDefinitionStrategy
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.validation import (
    validate_definition,
    validate_definition_status,
    validate_definition_update,
)

VERSION = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
OTHER = {**VERSION, "name": "v2", "storage": False}
NAMES = {"plural": "shirts", "kind": "Shirt"}
VALID = edited(
    defaulted(
        CustomResourceDefinitionStrategy(),
        named(
            "shirts.example.com",
            spec={"group": "example.com", "scope": "Namespaced", "names": NAMES, "versions": [VERSION]},
        ),
    ),
    {"status.storedVersions": ["v1"]},
)
ESTABLISHED = edited(VALID, {"status.conditions": [{"type": "Established", "status": "True"}]})
APPROVAL = "metadata.annotations[api-approved.kubernetes.io]"
PROTECTED = {"metadata.name": "shirts.x.k8s.io", "spec.group": "x.k8s.io"}


@pytest.mark.parametrize(
    "edits",
    [
        {},
        {"spec.versions": [VERSION, OTHER]},
        {"spec.versions": [VERSION, {**OTHER, "deprecated": True, "deprecationWarning": "use v1"}]},
        PROTECTED | {"metadata.annotations": {"api-approved.kubernetes.io": "https://example.com/1"}},
        PROTECTED | {"metadata.annotations": {"api-approved.kubernetes.io": "unapproved, for tests"}},
    ],
)
def test_validate_definition_accepts_valid_definitions(edits):
    assert texts(validate_definition(edited(VALID, edits))) == []


@pytest.mark.parametrize(
    ("edits", "fault"),
    [
        (
            {"metadata.name": "shirts.local", "spec.group": "local"},
            'spec.group: Invalid value: "local": should be a domain with at least one dot',
        ),
        ({"spec.scope": "World"}, 'spec.scope: Unsupported value: "World": supported values: "Cluster", "Namespaced"'),
        ({"spec.scope": ""}, "spec.scope: Required value"),
        ({"spec.versions.0.schema": GONE}, "spec.versions[0].schema.openAPIV3Schema: Required value"),
        (
            {"spec.versions.0.schema.openAPIV3Schema": {}},
            "spec.validation.openAPIV3Schema.type: Required value: must not be empty at the root",
        ),
        ({"spec.names.kind": ""}, "spec.names.kind: Required value"),
        (
            {"spec.names.listKind": "Shirt"},
            'spec.names.listKind: Invalid value: "Shirt": kind and listKind may not be the same',
        ),
        (
            {"spec.versions.0.deprecationWarning": "old"},
            'spec.versions[0].deprecationWarning: Invalid value: "old": can only be set for deprecated versions',
        ),
        (
            {"spec.versions.0.deprecated": True, "spec.versions.0.deprecationWarning": "a\tb"},
            (
                'spec.versions[0].deprecationWarning: Invalid value: "a\\tb": '
                "must only contain printable UTF-8 characters; non-printable character found at index 1"
            ),
        ),
        (
            {"spec.preserveUnknownFields": True},
            (
                "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields "
                "to true in spec.versions[*].schema instead"
            ),
        ),
        (
            {"spec.versions.0.schema.openAPIV3Schema.nullable": True},
            "spec.validation.openAPIV3Schema.nullable: Forbidden: nullable cannot be true at the root",
        ),
        (
            {"status.storedVersions": []},
            "status.storedVersions: Invalid value: []: must have at least one stored version",
        ),
        (
            {"status.storedVersions": ["v1", "v0"]},
            (
                'status.storedVersions[1]: Invalid value: "v0": missing from spec.versions; v0 was previously a storage '
                "version, and must remain in spec.versions until a storage migration ensures no data remains persisted in v0 "
                "and removes v0 from status.storedVersions"
            ),
        ),
        (
            PROTECTED,
            (
                f'{APPROVAL}: Required value: protected groups must have approval annotation "api-approved.kubernetes.io", '
                "see https://github.com/kubernetes/enhancements/pull/1111"
            ),
        ),
        (
            PROTECTED | {"metadata.annotations": {"api-approved.kubernetes.io": "yes"}},
            (
                f'{APPROVAL}: Invalid value: "yes": protected groups must have approval annotation '
                '"api-approved.kubernetes.io" with either a URL or a reason starting with "unapproved", '
                "see https://github.com/kubernetes/enhancements/pull/1111"
            ),
        ),
    ],
)
def test_validate_definition_rejects_invalid_fields(edits, fault):
    assert fault in texts(validate_definition(edited(VALID, edits)))


@pytest.mark.parametrize(
    ("name", "faults"),
    [
        ("shirts.example.com", []),
        ("shirts", ['must be spec.names.plural+"."+spec.group']),
        ("S", [*names.check_dns1123_subdomain("S"), 'must be spec.names.plural+"."+spec.group']),
    ],
)
def test_definition_name_rule_requires_plural_and_group(name, faults):
    assert list(CustomResourceDefinitionStrategy().name_rule(VALID)(name)) == faults


def test_validate_definition_reports_preserved_unknown_fields_with_defaults_first():
    schema = {"type": "object", "properties": {"a": {"type": "string", "default": "b"}}}
    edits = {"spec.preserveUnknownFields": True, "spec.versions": [{**VERSION, "schema": {"openAPIV3Schema": schema}}]}
    faults = texts(validate_definition(edited(VALID, {**edits, "spec.scope": ""})))
    assert faults[:2] == [
        "spec.scope: Required value",
        "spec.preserveUnknownFields: Invalid value: true: must be false in order to use defaults in the schema",
    ]


def test_validate_definition_reports_no_top_level_version_without_version_name():
    faults = texts(validate_definition(edited(VALID, {"spec.versions.0.name": ""})))
    assert [fault for fault in faults if fault.startswith("spec.version:")] == []


SELECTABLE = {"selectableFields": [{"jsonPath": ".a"}]}
BARE = {"name": "v1", "served": True, "storage": True, **SELECTABLE}


@pytest.mark.parametrize(
    ("versions", "fault"),
    [
        (
            [BARE],
            'spec.selectableFields: Invalid value: "": selectableFields may only be set when validations.schema is included',
        ),
        (
            [BARE, {**OTHER, **SELECTABLE}],
            (
                'spec.versions[0].selectableFields: Invalid value: "": selectableFields may only be set when '
                "version.schema.openAPIV3Schema is not included"
            ),
        ),
    ],
)
def test_validate_definition_rejects_selectable_fields_without_schema(versions, fault):
    assert fault in texts(validate_definition(edited(VALID, {"spec.versions": versions})))


def test_validate_definition_shows_versions_with_schemas_in_go_form():
    other = {**OTHER, "storage": True, "schema": {"openAPIV3Schema": {"type": "object", "maxProperties": 1}}}
    faults = texts(validate_definition(edited(VALID, {"spec.versions": [VERSION, other]})))
    assert len([fault for fault in faults if '"Schema":{"OpenAPIV3Schema":{"ID":""' in fault]) == 1


def test_validate_definition_reports_repeated_stored_versions_once():
    faults = texts(validate_definition(edited(VALID, {"status.storedVersions": ["v0", "v1", "v0"]})))
    assert [fault.partition(":")[0] for fault in faults] == ["status.storedVersions[2]"]


def test_validate_definition_update_accepts_unknown_review_version_if_stored():
    conversion = {
        "strategy": "Webhook",
        "webhook": {"clientConfig": {"url": "https://example.com"}, "conversionReviewVersions": ["v0"]},
    }
    old = edited(VALID, {"spec.conversion": conversion})
    assert texts(validate_definition_update(edited(old, {"spec.names.shortNames": ["s"]}), old)) == []
    assert texts(validate_definition_update(old, VALID)) != []


@pytest.mark.parametrize(
    ("versions", "end"),
    [
        ([VERSION, {**OTHER, "name": "v1"}], ": must contain unique version names"),
        ([VERSION, {**OTHER, "storage": True}], ": must have exactly one version marked as storage version"),
        ([{**VERSION, "storage": False}], ": must have exactly one version marked as storage version"),
    ],
)
def test_validate_definition_requires_unique_version_names_and_one_storage_version(versions, end):
    faults = texts(validate_definition(edited(VALID, {"spec.versions": versions})))
    assert [fault for fault in faults if fault.startswith("spec.versions: Invalid value: [") and fault.endswith(end)]


@pytest.mark.parametrize(("versions", "shown"), [(None, "null"), ([], "[]")])
def test_validate_definition_distinguishes_absent_from_empty_versions(versions, shown):
    faults = texts(validate_definition(edited(VALID, {"spec.versions": versions})))
    assert f"spec.versions: Invalid value: {shown}: must have exactly one version marked as storage version" in faults


def test_validate_definition_reports_unshared_schema_errors_at_version():
    odd = {**OTHER, "schema": {"openAPIV3Schema": {"type": "object", "nullable": True}}}
    assert texts(validate_definition(edited(VALID, {"spec.versions": [VERSION, odd]}))) == [
        "spec.versions[1].schema.openAPIV3Schema.nullable: Forbidden: nullable cannot be true at the root"
    ]


@pytest.mark.parametrize(("old", "count"), [(ESTABLISHED, 1), (VALID, 0)])
def test_validate_definition_update_rejects_scope_change_when_established(old, count):
    new = edited(old, {"spec.scope": "Cluster"})
    faults = texts(validate_definition_update(new, old))
    assert faults == ['spec.scope: Invalid value: "Cluster": field is immutable'] * count


@pytest.mark.parametrize(
    ("edits", "fault"),
    [
        ({"spec.group": "b.com"}, 'spec.group: Invalid value: "b.com": field is immutable'),
        ({"spec.names.plural": "coats"}, 'spec.names.plural: Invalid value: "coats": field is immutable'),
    ],
)
def test_validate_definition_update_rejects_change_of_group_and_plural(edits, fault):
    assert texts(validate_definition_update(edited(VALID, edits), VALID)) == [fault]


def test_validate_definition_update_accepts_unchanged_missing_approval():
    old = edited(VALID, PROTECTED)
    assert texts(validate_definition_update(edited(old, {"spec.versions": [VERSION, OTHER]}), old)) == []


def test_validate_definition_status_checks_accepted_names():
    accepted = edited(VALID, {"status.acceptedNames": {"plural": "shirts", "shortNames": ["s_h"]}})
    [fault] = texts(validate_definition_status(accepted))
    assert fault.startswith(
        'status.acceptedNames.shortNames[0]: Invalid value: "s_h": a DNS-1035 label must consist of'
    )
