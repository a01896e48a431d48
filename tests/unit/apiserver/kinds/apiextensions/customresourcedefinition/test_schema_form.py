"""Schemas as Go prints them."""

import pytest

from steersman.apiserver.kinds.apiextensions.customresourcedefinition.schema_form import (
    items_form,
    schema_form,
    set_fields,
)

PART = {"type": "string"}
SHOWN = schema_form(PART)


def test_schema_form_shows_unset_fields_with_zero_values():
    shown = schema_form({})
    assert list(shown)[:4] == ["ID", "Schema", "Ref", "Description"]
    assert (shown["ID"], shown["Ref"], shown["Nullable"], shown["AllOf"]) == ("", None, False, None)
    assert schema_form(None) is None


@pytest.mark.parametrize(
    ("key", "value", "name", "shown"),
    [
        ("$schema", "s", "Schema", "s"),
        ("x-kubernetes-list-map-keys", ["a"], "XListMapKeys", ["a"]),
        ("x-kubernetes-int-or-string", True, "XIntOrString", True),
        ("items", PART, "Items", {"Schema": SHOWN, "JSONSchemas": None}),
        ("oneOf", [PART], "OneOf", [SHOWN]),
        ("not", PART, "Not", SHOWN),
        ("properties", {"b": PART, "a": PART}, "Properties", {"a": SHOWN, "b": SHOWN}),
        ("additionalProperties", True, "AdditionalProperties", {"Allows": True, "Schema": None}),
        ("additionalProperties", PART, "AdditionalProperties", {"Allows": True, "Schema": SHOWN}),
        ("dependencies", {"a": ["b"]}, "Dependencies", {"a": {"Schema": None, "Property": ["b"]}}),
        ("dependencies", {"a": PART}, "Dependencies", {"a": {"Schema": SHOWN, "Property": None}}),
        ("externalDocs", {"url": "u"}, "ExternalDocs", {"Description": "", "URL": "u"}),
    ],
)
def test_schema_form_shows_field_with_go_name(key, value, name, shown):
    assert schema_form({key: value})[name] == shown


def test_schema_form_shows_rules():
    assert schema_form({"x-kubernetes-validations": [{"rule": "r"}]})["XValidations"][0]["Rule"] == "r"


def test_items_form_shows_list_of_schemas():
    assert items_form([PART]) == {"Schema": None, "JSONSchemas": [SHOWN]}


def test_set_fields_omits_zero_values():
    schema = {"nullable": False, "type": "", "$ref": "", "maxLength": 0, "x-kubernetes-embedded-resource": False}
    assert list(set_fields(schema)) == ["Ref", "MaxLength"]
