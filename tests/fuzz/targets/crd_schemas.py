"""CRD schemas: validation never raises; with a valid schema, pruning, defaulting and validation of objects are idempotent."""

from __future__ import annotations

from typing import Any

from tests.fuzz.choices import NUMBERS, Choices, json_case

from steersman.apimachinery.codec import DecodeError, decode_json, encode
from steersman.apiserver.crd import structure
from steersman.apiserver.crd.ratcheting import new_faults
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.embedded import validate_embedded
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.formats import unrecognized_formats
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.object_rules import ObjectRules
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.shape import Shape
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.structural import check_convertible
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.validation import validate_definition
from steersman.schema import decoding
from steersman.schema.loader import struct_for
from steersman.schema.openapi_acceptance import Acceptor
from steersman.schema.openapi_values import validate

TOKENS = (b'"type":"object"', b'"properties":', b'"items":', b'"x-kubernetes-int-or-string":true', b'"x-kubernetes-preserve-unknown-fields":true',
          b'"x-kubernetes-list-type":"map"', b'"x-kubernetes-list-map-keys":["a"]', b'"nullable":true', b'"default":', b'"additionalProperties":',
          b'"x-kubernetes-validations":[{"rule":"self == oldSelf"}]', b'"anyOf":[', b'"not":{', b'"pattern":"^a$"', b'"enum":["a"]')  # fmt: skip
NAMES = ("a", "b", "c", "metadata", "spec")
TYPES = ("object", "object", "array", "string", "integer", "number", "boolean", "", "null")
FORMATS = (
    "int32",
    "int64",
    "date-time",
    "byte",
    "duration",
    "email",
    "ipv4",
    "uuid",
    "x",
    "double",
    "quantity",
    "date",
    "uri",
    "hostname",
    "cidr",
)
PATTERNS = ("^a+$", "[", "(?P<n>a)", "a{1,1001}", "(a+)+$", "", "\\d", "(?i)A", "\\p{L}", "(?=a)", "a**")
RULES = ("self == oldSelf", "self.a == 1", "has(self.a)", "self.size() > 0", "true", "1", "self.all(x, x == x)", "self.a.matches('a+')", "(",
         "self.metadata.name == 'n'", "self.exists(k, self[k] == k)", "quantity(self).isLessThan(quantity('1'))", "self > 0")  # fmt: skip


def run(data: bytes) -> None:
    schema, one, two = json_case(data, 3, _draw)
    definition = _definition(schema)
    try:
        spec = decoding.decode(struct_for("apiextensions.k8s.io", "v1", "CustomResourceDefinition"), definition).tree
    except DecodeError:
        return
    assert check_convertible(spec["spec"]["versions"][0].get("schema", {}).get("openAPIV3Schema")) is not None
    list(unrecognized_formats(spec))
    before = encode(spec)
    errors = [str(error) for error in validate_definition(spec)]
    assert encode(spec) == before
    if errors or not spec["spec"]["versions"][0].get("schema"):
        return
    _check_objects(spec["spec"]["versions"][0]["schema"]["openAPIV3Schema"], one, two)


def _check_objects(schema: dict[str, Any], one: Any, two: Any) -> None:
    rules = ObjectRules(schema)
    accepted = []
    for tree in (one, two):
        if not isinstance(tree, dict):
            continue
        tree = {**tree, "apiVersion": "example.com/v1", "kind": "Widget"}
        try:
            obj = _normalize(schema, tree)
        except DecodeError:
            continue
        once = encode(obj)
        again = _normalize(schema, decode_json(once))
        assert encode(again) == once, (schema, tree, obj, again)
        accepted.append(obj)
    for obj in accepted:
        faults = validate(schema, obj)
        assert not (faults and Acceptor(schema).accepts(obj)), (schema, obj, faults)
        list(validate_embedded(Shape(schema), obj))
        rules.validate(obj, None, faults=[fault.error for fault in faults], warn=str)
        for old in accepted:
            new_faults(schema, faults, obj, old)
            rules.validate(obj, old, faults=[], warn=str)


def _normalize(schema: dict[str, Any], tree: dict[str, Any]) -> dict[str, Any]:
    """Prune, drop nulls and default, as a write does."""
    before = encode(tree)
    obj, _ = structure.decode(Shape(schema), tree)
    assert encode(tree) == before
    structure.fill_defaults(Shape(schema), obj)
    return obj


def _definition(schema: Any) -> dict[str, Any]:
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    return {"metadata": {"name": "widgets.example.com"}, "status": {"storedVersions": ["v1"], "acceptedNames": names, "conditions": []},
            "spec": {"group": "example.com", "names": names, "scope": "Namespaced", "versions": [version], "conversion": {"strategy": "None"}}}  # fmt: skip


def _draw(choices: Choices) -> tuple[Any, ...]:
    schema = _schema(choices, 5)
    schema["type"] = "object"
    schema.pop("nullable", None)
    properties = schema.setdefault("properties", {"spec": _schema(choices, 4)})
    if "additionalProperties" in schema:
        del schema["additionalProperties" if properties else "properties"]
    return schema, _value(choices, schema, 6), _value(choices, schema, 6)


def _schema(choices: Choices, depth: int, *, structural: bool = True) -> dict[str, Any]:
    """Return a schema, most often a structural one."""
    kind = choices.pick(TYPES[:7]) if not choices.one_in(24) else choices.pick(TYPES)
    schema: dict[str, Any] = {"type": kind} if structural or choices.one_in(8) else {}
    if depth and kind == "object":
        form = choices.below(4)
        if form == 0:
            schema["additionalProperties"] = _schema(choices, depth - 1, structural=structural)
        else:
            schema["properties"] = {
                choices.pick(NAMES): _schema(choices, depth - 1, structural=structural) for _ in range(form)
            }
    elif kind == "array":
        schema["items"] = _schema(choices, max(0, depth - 1), structural=structural)
    for _ in range(choices.below(4)):
        _extend(choices, schema, depth)
    return schema


def _extend(choices: Choices, schema: dict[str, Any], depth: int) -> None:
    """Add one keyword."""
    match choices.below(16):
        case 0:
            schema["nullable"] = choices.one_in(2)
        case 1 | 2:
            schema["default"] = _value(choices, schema, 3)
        case 3:
            schema["x-kubernetes-preserve-unknown-fields"] = True
        case 4:
            schema["x-kubernetes-int-or-string"] = True
            schema.pop("type", None)
        case 5:
            schema["x-kubernetes-list-type"] = choices.pick(("map", "set", "atomic", "x"))
            schema["x-kubernetes-list-map-keys"] = [choices.pick(NAMES) for _ in range(choices.below(3))]
            if schema["x-kubernetes-list-type"] != "map":
                del schema["x-kubernetes-list-map-keys"]
        case 6:
            schema["enum"] = [_value(choices, schema, 2) for _ in range(choices.below(4))]
        case 7:
            schema["pattern"] = choices.pick(PATTERNS)
        case 8:
            schema["format"] = choices.pick(FORMATS)
        case 9:
            schema["x-kubernetes-validations"] = [
                {"rule": choices.pick(RULES), "optionalOldSelf": choices.one_in(4) or None}
            ]
        case 10 if depth:
            key = choices.pick(("anyOf", "oneOf", "allOf"))
            schema[key] = [
                _schema(choices, depth - 2 if depth > 1 else 0, structural=False) for _ in range(choices.below(3))
            ]
        case 11 if depth:
            schema["not"] = _schema(choices, 0, structural=False)
        case 12:
            schema["required"] = [choices.pick(NAMES) for _ in range(choices.below(3))]
        case 13:
            name = choices.pick(
                ("minimum", "maximum", "multipleOf", "minLength", "maxLength", "minItems", "maxItems", "maxProperties")
            )
            schema[name] = choices.pick(NUMBERS)
        case 14:
            schema["x-kubernetes-embedded-resource"] = True
        case _:
            schema[choices.pick(("uniqueItems", "exclusiveMinimum", "x-kubernetes-map-type", "title", "example"))] = (
                choices.scalar()
            )


def _value(choices: Choices, schema: dict[str, Any], depth: int) -> Any:
    """Return a value that mostly fits a schema."""
    if depth == 0 or choices.one_in(12):
        return choices.tree(2)
    if schema.get("x-kubernetes-int-or-string"):
        return choices.pick((1, "a", "25%"))
    kind = schema.get("type")
    if kind == "object":
        properties = schema.get("properties") or {}
        tree = {name: _value(choices, below, depth - 1) for name, below in properties.items() if not choices.one_in(3)}
        if isinstance(others := schema.get("additionalProperties"), dict):
            tree.update({choices.pick(NAMES): _value(choices, others, depth - 1) for _ in range(choices.below(3))})
        if choices.one_in(6):
            tree[choices.pick(NAMES)] = choices.tree(2)
        return tree
    if kind == "array":
        return [_value(choices, schema.get("items") or {}, depth - 1) for _ in range(choices.below(4))]
    if kind in ("integer", "number"):
        return choices.pick(NUMBERS)
    return choices.one_in(2) if kind == "boolean" else choices.text()
