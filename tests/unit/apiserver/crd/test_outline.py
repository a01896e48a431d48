"""Outlines of stored definitions."""

import copy

import msgspec
import pytest

from steersman.apiserver.crd.definition import all_versions
from steersman.apiserver.crd.outline import accepted_names, have_equal_specs, outline_of

SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {"type": "object", "properties": {"size": {"type": "integer", "default": 1}}},
        "status": {"type": "object", "default": {"ready": False}, "properties": {"ready": {"type": "boolean"}}},
    },
}
DEFINITION = {
    "metadata": {"name": "shirts.example.com", "generation": 2, "finalizers": ["a"], "resourceVersion": "5"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "shirts", "kind": "Shirt", "shortNames": ["s"]},
        "preserveUnknownFields": False,
        "conversion": {"strategy": "None"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "deprecated": True,
                "deprecationWarning": "old",
                "schema": {"openAPIV3Schema": SCHEMA},
                "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.size"}},
                "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
                "selectableFields": [{"jsonPath": ".spec.size"}],
            },
            {"name": "v2", "served": False, "storage": False, "schema": {"openAPIV3Schema": {"type": "object"}}},
            {"name": "v3", "served": True, "storage": False},
        ],
    },
    "status": {"acceptedNames": {"plural": "shirts", "kind": "Shirt"}, "conditions": [{"type": "Established"}]},
}


def changed(*path: str | int, value: object) -> bytes:
    """Return the stored form of the definition with another value."""
    definition = copy.deepcopy(DEFINITION)
    at: object = definition
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return msgspec.json.encode(definition)


def test_outline_lacks_only_schemas():
    outline = outline_of(msgspec.json.encode(DEFINITION))
    expected = copy.deepcopy(DEFINITION)
    status = {"status": {"default": {"ready": False}}}
    expected["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": {"properties": status}}
    expected["spec"]["versions"][1]["schema"] = {"openAPIV3Schema": {}}
    assert outline == expected


def test_versions_of_an_outline_are_those_of_the_definition():
    outline = outline_of(msgspec.json.encode(DEFINITION))
    of_outline = all_versions(outline, lambda: DEFINITION)
    of_definition = all_versions(DEFINITION)
    assert list(of_outline) == list(of_definition)
    for one, other in zip(of_outline.values(), of_definition.values(), strict=True):
        assert one.resource == other.resource
        assert (one.columns, one.scale) == (other.columns, other.scale)
        assert (one.has_status, one.defaults_status) == (other.has_status, other.defaults_status)
        assert (one.is_served, one.is_stored, one.has_defaults) == (
            other.is_served,
            other.is_stored,
            other.has_defaults,
        )
        assert one.schema.tree == other.schema.tree


def test_outline_of_a_definition_that_is_incomplete():
    definition = {"metadata": {"name": "a.b"}, "spec": {"versions": [{"schema": None}, {"schema": {}}]}}
    assert outline_of(msgspec.json.encode(definition)) == definition


@pytest.mark.parametrize(
    ("raw", "is_equal"),
    [
        (changed("metadata", "resourceVersion", value="6"), True),
        (changed("status", value={}), True),
        (changed("spec", "names", value=dict(reversed(DEFINITION["spec"]["names"].items()))), True),
        (changed("spec", "preserveUnknownFields", value=0), False),
        (changed("spec", "versions", value=DEFINITION["spec"]["versions"][:2]), False),
    ],
)
def test_specs_are_compared_without_the_order_of_keys(raw, is_equal):
    assert have_equal_specs(msgspec.json.encode(DEFINITION), raw) is is_equal


@pytest.mark.parametrize(("status", "names"), [({}, {}), ({"acceptedNames": None}, {}), (None, {})])
def test_accepted_names_may_be_missing(status, names):
    assert accepted_names(changed("status", value=status)) == names
    assert accepted_names(msgspec.json.encode(DEFINITION)) == DEFINITION["status"]["acceptedNames"]
