"""Definitions read."""

from steersman.apiserver.crd.definition import condition_is, is_established, served_versions, stored_form

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


def test_only_served_versions_become_resources():
    versions = served_versions(definition())
    assert [v.resource.version for v in versions] == ["v1", "v1beta1"]
    assert {v.resource.storage_api_version for v in versions} == {"example.com/v1"}
    assert [v.is_stored for v in versions] == [True, False]


def test_a_version_may_be_stored_and_not_served():
    stored = [{**version, "storage": version["name"] == "v1alpha1"} for version in VERSIONS]
    assert stored_form(definition(versions=stored)).resource.api_version == "example.com/v1alpha1"


def test_subresources_short_names_and_deprecation_are_read():
    v1, v1beta1 = served_versions(definition())
    assert [s.name for s in v1.resource.subresources] == ["status", "scale"]
    assert v1.resource.short_names == ("sh",)
    assert v1.resource.deprecation_warning == ""
    assert v1beta1.resource.deprecation_warning == "example.com/v1beta1 Shirt is deprecated"


def test_scope_and_place_in_the_store():
    (resource, *_) = (v.resource for v in served_versions(definition(scope="Cluster")))
    assert not resource.namespaced
    assert resource.key_prefix == "/registry/example.com/shirts"


def test_a_version_without_a_schema_keeps_everything():
    assert served_versions(definition())[0].struct.preserve_unknown


def test_preserving_unknown_fields_may_be_said_for_the_whole_definition():
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"a": {"type": "string", "default": "x"}}}}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": schema}]
    (version,) = served_versions(definition(versions=versions, preserveUnknownFields=True))
    assert version.struct.preserve_unknown
    assert version.has_defaults


def test_conditions_are_read_by_type_and_status():
    tree = definition()
    tree["status"]["conditions"] = [{"type": "Established", "status": "True"}]
    assert is_established(tree)
    assert not condition_is(tree, "Established", "False")
