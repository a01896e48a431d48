"""Definitions read."""

import copy

import pytest

from steersman.apiserver.crd.definition import CustomVersion, all_versions, condition_is, is_established

NAMES = {"plural": "shirts", "singular": "shirt", "kind": "Shirt", "listKind": "ShirtList", "shortNames": ["sh"]}
VERSIONS = [
    {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.n"}},
    },
    {"name": "v1beta1", "served": True, "storage": False, "deprecated": True},
    {"name": "v1alpha1", "served": False, "storage": False},
]


def definition(**spec: object) -> dict:
    whole = {"group": "example.com", "scope": "Namespaced", "names": NAMES, "versions": VERSIONS, **spec}
    return {"metadata": {"name": "shirts.example.com"}, "spec": whole, "status": {"acceptedNames": NAMES}}


def versions_of(tree: dict) -> list[CustomVersion]:
    return list(all_versions(tree).values())


def test_all_versions_become_resources():
    versions = versions_of(definition())
    assert [(v.resource.version, v.is_served) for v in versions] == [
        ("v1", True),
        ("v1beta1", True),
        ("v1alpha1", False),
    ]
    assert {v.resource.storage_api_version for v in versions} == {"example.com/v1"}
    assert [v.is_stored for v in versions] == [True, False, False]


def test_storage_version_need_not_be_served():
    stored = [{**version, "storage": version["name"] == "v1alpha1"} for version in VERSIONS]
    [version] = [version for version in versions_of(definition(versions=stored)) if version.is_stored]
    assert (version.resource.api_version, version.is_served) == ("example.com/v1alpha1", False)


def test_subresources_short_names_and_deprecation_are_read():
    v1, v1beta1, _ = versions_of(definition())
    assert [s.name for s in v1.resource.subresources] == ["status", "scale"]
    assert v1.resource.short_names == ("sh",)
    assert v1.resource.deprecation_warning == ""
    assert v1beta1.resource.deprecation_warning == "example.com/v1beta1 Shirt is deprecated"


def test_scope_and_key_prefix():
    (resource, *_) = (v.resource for v in versions_of(definition(scope="Cluster")))
    assert not resource.namespaced
    assert resource.key_prefix == "/registry/example.com/shirts"


def test_version_without_a_schema_preserves_all_fields():
    assert versions_of(definition())[0].shape.preserves_unknown


def test_preserve_unknown_fields_of_the_definition_applies_to_all_versions():
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"a": {"type": "string", "default": "x"}}}}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": schema}]
    (version,) = versions_of(definition(versions=versions, preserveUnknownFields=True))
    assert version.shape.preserves_unknown
    assert version.has_defaults


def test_conditions_are_read_by_type_and_status():
    tree = definition()
    tree["status"]["conditions"] = [{"type": "Established", "status": "True"}]
    assert is_established(tree)
    assert not condition_is(tree, "Established", "False")


def test_schemas_are_read_from_the_stored_definition():
    stored = copy.deepcopy(definition())
    for version in stored["spec"]["versions"]:
        version["schema"] = {"openAPIV3Schema": {"title": version["name"]}}
    versions = all_versions(definition(), lambda: stored).values()
    assert [version.schema.tree["title"] for version in versions] == [version.resource.version for version in versions]


@pytest.mark.parametrize(
    ("status", "subresources", "expected"),
    [
        ({"type": "object", "default": {}}, {"status": {}}, True),
        ({"type": "object", "default": {}}, {}, False),
        ({"type": "object", "properties": {"a": {"default": 1}}}, {"status": {}}, False),
    ],
)
def test_version_reports_whether_a_missing_status_is_defaulted(status, subresources, expected):
    tree = copy.deepcopy(definition())
    only = tree["spec"]["versions"][0]
    only["schema"] = {"openAPIV3Schema": {"type": "object", "properties": {"status": status}}}
    only["subresources"] = subresources
    assert versions_of(tree)[0].defaults_status is expected
