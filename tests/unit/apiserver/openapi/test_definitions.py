"""Types as JSON Schema."""

import msgspec
import pytest

from steersman.apimachinery.typemodel import Field, ListOf, ListType, MapOf, Scalar, ScalarKind, Struct
from steersman.apiserver.openapi.definitions import Definitions, Dialect, Library
from steersman.schema.descriptions import describe as published_description
from steersman.schema.resources import Resource

TEXT = Scalar(ScalarKind.STRING)


def describe(definition: str) -> tuple[str, dict[str, str]]:
    return f"What {definition} is.", {"name": "What it is called."}


def defined(struct: Struct, *, v3: bool = False) -> dict:
    definitions = Definitions(Library(Dialect(v3=v3), describe), kinds={"x.Thing": [("", "v1", "Thing")]})
    definitions.add(struct)
    return {name: msgspec.json.decode(encoded) for name, encoded in definitions.encoded.items()}


def thing(**fields: object) -> Struct:
    return Struct("x.Thing", {name: Field(name, type_) for name, type_ in fields.items()})  # type: ignore[arg-type]


def test_kind_has_name_and_descriptions():
    result = defined(thing(name=TEXT))["x.Thing"]
    assert result["description"] == "What x.Thing is."
    assert result["properties"]["name"] == {"type": "string", "description": "What it is called."}
    assert result["x-kubernetes-group-version-kind"] == [{"group": "", "kind": "Thing", "version": "v1"}]


def test_lists_have_merge_keys():
    item = Struct("x.Item", {"key": Field("key", TEXT)})
    result = defined(thing(items=ListOf(item, list_type=ListType.MAP, keys=("key",))))
    assert result["x.Thing"]["properties"]["items"] == {
        "type": "array",
        "items": {"$ref": "#/definitions/x.Item"},
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["key"],
    }
    assert "x.Item" in result


def test_recursive_type_is_defined_once():
    node = Struct("x.Node", {})
    node.fields["child"] = Field("child", node)
    assert set(defined(node)) == {"x.Node"}


def test_described_reference_is_wrapped_in_version_3():
    struct = Struct("x.Thing", {"name": Field("name", Struct("x.Name", {}))})
    name = defined(struct, v3=True)["x.Thing"]["properties"]["name"]
    assert name["allOf"] == [{"$ref": "#/components/schemas/x.Name"}]
    assert name["description"] == "What it is called."


@pytest.mark.parametrize(
    ("kind", "schema"),
    [
        (ScalarKind.INT32, {"type": "integer", "format": "int32"}),
        (ScalarKind.BYTES, {"type": "string", "format": "byte"}),
        (ScalarKind.BOOLEAN, {"type": "boolean"}),
    ],
)
def test_scalars(kind, schema):
    assert defined(thing(leaf=Scalar(kind)))["x.Thing"]["properties"]["leaf"] == schema


def test_quantities_are_defined_by_name_and_may_be_numbers_in_version_3():
    name = "io.k8s.apimachinery.pkg.api.resource.Quantity"
    assert defined(thing(q=Scalar(ScalarKind.QUANTITY)))[name]["type"] == "string"
    assert {"type": "number"} in defined(thing(q=Scalar(ScalarKind.QUANTITY)), v3=True)[name]["oneOf"]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (ScalarKind.ANY, "JSON"),
        (ScalarKind.SCHEMA_OR_BOOL, "JSONSchemaPropsOrBool"),
        (ScalarKind.SCHEMA_OR_ARRAY, "JSONSchemaPropsOrArray"),
        (ScalarKind.SCHEMA_OR_STRINGS, "JSONSchemaPropsOrStringArray"),
    ],
)
def test_values_of_several_types_are_defined_by_name_without_a_type(kind, name):
    full_name = f"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.{name}"
    result = defined(thing(values=MapOf(Scalar(kind))))
    values = result["x.Thing"]["properties"]["values"]
    assert values["additionalProperties"] == {"$ref": f"#/definitions/{full_name}"}
    assert set(result[full_name]) == {"description"}


def test_fields_of_managers_are_objects():
    meta = "io.k8s.apimachinery.pkg.apis.meta.v1"
    entry = Struct(f"{meta}.ManagedFieldsEntry", {"fieldsV1": Field("fieldsV1", Scalar(ScalarKind.ANY))})
    result = defined(entry)
    fields = result[f"{meta}.ManagedFieldsEntry"]["properties"]["fieldsV1"]
    assert fields == {"$ref": f"#/definitions/{meta}.FieldsV1"}
    assert result[f"{meta}.FieldsV1"]["type"] == "object"


def test_structs_by_value_have_a_default_in_version_3_and_pointers_none():
    part = Struct("x.Part", {})
    fields = {"value": Field("value", part, keep_zero=False), "pointer": Field("pointer", part)}
    properties = defined(Struct("x.Thing", fields), v3=True)["x.Thing"]["properties"]
    reference = {"$ref": "#/components/schemas/x.Part"}
    assert properties == {"value": {"default": {}, "allOf": [reference]}, "pointer": reference}


def test_maps_and_required_fields():
    struct = Struct("x.Thing", {"m": Field("m", MapOf(TEXT, atomic=True), mandatory=True)})
    result = defined(struct)["x.Thing"]
    assert result["required"] == ["m"]
    assert result["properties"]["m"]["additionalProperties"] == {"type": "string"}
    assert result["properties"]["m"]["x-kubernetes-map-type"] == "atomic"


def test_add_list_defines_list_of_kind():
    definitions = Definitions(Library(Dialect(v3=False), describe), kinds={})
    definitions.add_list(thing(), ("", "v1", "Thing"), meta=Struct("x.ListMeta", {}))
    decoded = msgspec.json.decode(definitions.encoded["x.ThingList"])
    assert decoded["properties"]["items"]["items"] == {"$ref": "#/definitions/x.Thing"}
    assert decoded["x-kubernetes-group-version-kind"] == [{"group": "", "kind": "ThingList", "version": "v1"}]


def test_library_shares_types_between_documents_but_not_kinds():
    struct = Struct(
        "x.Thing", {"name": Field("name", Struct("x.Name", {"q": Field("q", Scalar(ScalarKind.QUANTITY))}))}
    )
    library = Library(Dialect(v3=True), describe)
    first = Definitions(library, kinds={"x.Thing": [("", "v1", "Thing")]})
    first.add(struct)
    second = Definitions(library, kinds={"x.Thing": [("", "v2", "Thing")]})
    second.add(struct)
    assert first.encoded.keys() == second.encoded.keys()
    assert first.encoded["x.Name"] is second.encoded["x.Name"]
    assert b'"version":"v1"' in first.encoded["x.Thing"]
    assert b'"version":"v2"' in second.encoded["x.Thing"]


@pytest.mark.parametrize("v3", [False, True])
def test_custom_definition_adds_fields_of_every_object(v3):
    schema = {"type": "object", "properties": {"spec": {"type": "object"}, "kind": {"type": "string"}}}
    library = Library(Dialect(v3=v3), published_description)
    decoded = msgspec.json.decode(library.encode_custom(schema, ("example.com", "v1", "Gadget")))
    gvk = {"group": "example.com", "kind": "Gadget", "version": "v1"}
    assert decoded["x-kubernetes-group-version-kind"] == [gvk]
    assert decoded["properties"].keys() == {"apiVersion", "kind", "metadata", "spec"}
    assert "ObjectMeta" in str(decoded["properties"]["metadata"])
    assert decoded["properties"]["apiVersion"]["description"].startswith(
        "APIVersion defines the versioned schema of this "
    )
    assert decoded["properties"]["metadata"]["description"].startswith(
        "Standard object's metadata. More info: https://"
    )
    assert schema["properties"].keys() == {"spec", "kind"}


@pytest.mark.parametrize("v3", [False, True])
def test_custom_definition_names_selectable_fields(v3):
    library = Library(Dialect(v3=v3), describe)
    for root in ({"type": "object"}, {"type": "object", "x-kubernetes-preserve-unknown-fields": True}):
        gvk = ("example.com", "v1", "Gadget")
        decoded = msgspec.json.decode(library.encode_custom(root, gvk, [".spec.a", ".b"]))
        assert decoded["x-kubernetes-selectable-fields"] == [{"fieldPath": "spec.a"}, {"fieldPath": "b"}]
        assert "x-kubernetes-selectable-fields" not in msgspec.json.decode(library.encode_custom(root, gvk))


def test_custom_list_has_the_declared_kind_and_no_defaults():
    names = ("example.com", "v1", "gadgets", "Gadget", "gadget")
    resource = Resource(*names, namespaced=True, verbs=("list",), declared_list_kind="GadgetSet")
    definitions = Definitions(Library(Dialect(v3=True), describe), kinds={})
    definitions.add_custom_list("com.example.v1.Gadget", resource, meta=Struct("x.ListMeta", {}))
    decoded = msgspec.json.decode(definitions.encoded["com.example.v1.GadgetSet"])
    assert decoded["description"] == "GadgetSet is a list of Gadget"
    assert decoded["properties"]["items"]["items"] == {"$ref": "#/components/schemas/com.example.v1.Gadget"}
    assert decoded["properties"]["metadata"]["allOf"] == [{"$ref": "#/components/schemas/x.ListMeta"}]
    assert "default" not in decoded["properties"]["metadata"]
    assert decoded["x-kubernetes-group-version-kind"] == [
        {"group": "example.com", "kind": "GadgetSet", "version": "v1"}
    ]
