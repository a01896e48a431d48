"""OpenAPI documents as gnostic protobuf messages, which client-go requests.

Only messages of Kubernetes documents are described: each is a table from the JSON name to a field number and a form.
Numbers are those of ``openapiv2/OpenAPIv2.proto`` and ``openapiv3/OpenAPIv3.proto`` of google/gnostic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from steersman.apimachinery.protowire import boolean, double, integer, length_delimited, string, varint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from steersman.apimachinery.trees import Tree


def _any(number: int, value: Any) -> bytes:
    """Encode gnostic's ``Any``: the value as YAML text; JSON is valid YAML."""
    return length_delimited(number, string(2, msgspec.json.encode(value).decode() + "\n"))


def _named(number: int, name: str, payload: bytes) -> bytes:
    """Encode one map entry, which gnostic represents as a list of names and values."""
    return length_delimited(number, string(1, name) + length_delimited(2, payload))


def _delimited(number: int, fragments: list[bytes]) -> list[bytes]:
    """Encode a message whose payload is the concatenation of fragments, without copying them."""
    return [varint(number << 3 | 2) + varint(sum(map(len, fragments))), *fragments]


_SCALARS: dict[str, Callable[[int, Any], bytes]] = {
    "string": string,
    "bool": boolean,
    "int": integer,
    "double": double,
    "any": _any,
}


class Dialect:
    """Messages of one OpenAPI version: name → {JSON name: (number, form)}.

    Forms: a scalar; ``strings``; ``anys``; ``Message``; ``[Message]`` (repeated); ``{Message}`` (a message whose field 1
    is the list of named entries); ``extension`` numbers take every ``x-`` member.
    """

    def __init__(
        self, messages: dict[str, dict[str, tuple[int, str]]], special: dict[str, Any], extensions: dict[str, int]
    ) -> None:
        self.messages = messages
        self.special = special
        self.extensions = extensions

    def path_item(self, path: str, tree: Tree) -> bytes:
        """Return a member of a document's ``paths``."""
        return self.message("Paths", {path: tree})

    def definition(self, name: str, tree: Tree) -> bytes:
        """Return a member of a document's definitions."""
        form = "SchemaOrReference" if "SchemaOrReference" in self.special else "Schema"
        return _named(1, name, self.message(form, tree))

    def document(self, frame: Tree, paths: list[bytes], definitions: list[bytes]) -> tuple[bytes, ...]:
        """Return fragments whose concatenation is a ``Document``: ``frame`` with these members, which are not copied."""
        fragments: list[bytes] = []
        for key, value in frame.items():
            number = self.messages["Document"][key][0]
            if key == "paths":
                fragments += _delimited(number, paths)
            elif key == "definitions":
                fragments += _delimited(number, definitions)
            elif key == "components":
                schemas = _delimited(self.messages["Components"]["schemas"][0], definitions)
                others = self.message("Components", {name: part for name, part in value.items() if name != "schemas"})
                fragments += _delimited(number, [*schemas, others])
            else:
                fragments.append(self.message("Document", {key: value}))
        return tuple(fragments)

    def message(self, name: str, tree: Any) -> bytes:
        """Return the payload of a message."""
        special = self.special.get(name)
        if special is not None:
            payload: bytes = special(self, tree)
            return payload
        return b"".join(self._members(name, tree))

    def _members(self, name: str, tree: Tree) -> Iterator[bytes]:
        fields = self.messages[name]
        extension = self.extensions.get(name, 0)
        for key, value in tree.items():
            if key in fields:
                yield self._field(*fields[key], value)
            elif key.startswith("x-") and extension:
                yield length_delimited(extension, string(1, key) + _any(2, value))

    def _field(self, number: int, form: str, value: Any) -> bytes:
        if form in _SCALARS:
            return _SCALARS[form](number, value)
        if form == "strings":
            return b"".join(length_delimited(number, v.encode()) for v in value)
        if form == "anys":
            return b"".join(_any(number, v) for v in value)
        if form.startswith("["):
            return b"".join(length_delimited(number, self.message(form[1:-1], v)) for v in value)
        if form.startswith("{"):
            entries = (_named(1, key, self.message(form[1:-1], v)) for key, v in value.items())
            return length_delimited(number, b"".join(entries))
        return length_delimited(number, self.message(form, value))


def _one_of(*choices: tuple[Callable[[Any], bool], int, str]) -> Callable[[Dialect, Any], bytes]:
    """Return an encoder of a ``oneof``: the first choice whose test succeeds."""

    def encode(dialect: Dialect, tree: Any) -> bytes:
        number, form = next((n, f) for test, n, f in choices if test(tree))
        return dialect._field(number, form, tree)

    return encode


def _paths(number: int) -> Callable[[Dialect, Any], bytes]:
    def encode(dialect: Dialect, tree: Any) -> bytes:
        return b"".join(_named(number, path, dialect.message("PathItem", item)) for path, item in tree.items())

    return encode


def _responses(number: int, form: str) -> Callable[[Dialect, Any], bytes]:
    def encode(dialect: Dialect, tree: Any) -> bytes:
        return b"".join(_named(number, code, dialect.message(form, answer)) for code, answer in tree.items())

    return encode


def _string_list(_: Dialect, tree: Any) -> bytes:
    """Encode ``TypeItem`` or ``StringArray``: one string or several."""
    return b"".join(length_delimited(1, v.encode()) for v in ([tree] if isinstance(tree, str) else tree))


def _security_requirement(dialect: Dialect, tree: Any) -> bytes:
    return b"".join(_named(1, name, _string_list(dialect, scopes)) for name, scopes in tree.items())


def _default_v3(_: Dialect, value: Any) -> bytes:
    """Encode a default of version 3: only scalars have a value, lists and objects are empty."""
    if isinstance(value, bool):
        return boolean(2, value)
    if isinstance(value, (int, float)):
        return double(1, value)
    return string(3, value) if isinstance(value, str) else b""


def _always(_: Any) -> bool:
    return True


def _is_boolean(tree: Any) -> bool:
    return isinstance(tree, bool)


def _is_reference(tree: Any) -> bool:
    return "$ref" in tree


_OPERATIONS_V2 = {"get": 2, "put": 3, "post": 4, "delete": 5, "options": 6, "head": 7, "patch": 8}
_OPERATIONS_V3 = {"get": 4, "put": 5, "post": 6, "delete": 7, "options": 8, "head": 9, "patch": 10}

V2 = Dialect(
    {
        "Document": {
            "swagger": (1, "string"),
            "info": (2, "Info"),
            "paths": (8, "Paths"),
            "definitions": (9, "{Schema}"),
            "security": (12, "[SecurityRequirement]"),
            "securityDefinitions": (13, "{SecurityDefinition}"),
        },
        "Info": {"title": (1, "string"), "version": (2, "string"), "description": (3, "string")},
        "PathItem": {m: (n, "Operation") for m, n in _OPERATIONS_V2.items()} | {"parameters": (9, "[ParametersItem]")},
        "Operation": {
            "tags": (1, "strings"),
            "summary": (2, "string"),
            "description": (3, "string"),
            "operationId": (5, "string"),
            "produces": (6, "strings"),
            "consumes": (7, "strings"),
            "parameters": (8, "[ParametersItem]"),
            "responses": (9, "Responses"),
            "schemes": (10, "strings"),
        },
        "BodyParameter": {
            "description": (1, "string"),
            "name": (2, "string"),
            "in": (3, "string"),
            "required": (4, "bool"),
            "schema": (5, "Schema"),
        },
        "QueryParameter": {
            "required": (1, "bool"),
            "in": (2, "string"),
            "description": (3, "string"),
            "name": (4, "string"),
            "type": (6, "string"),
            "uniqueItems": (20, "bool"),
        },
        "PathParameter": {
            "required": (1, "bool"),
            "in": (2, "string"),
            "description": (3, "string"),
            "name": (4, "string"),
            "type": (5, "string"),
            "uniqueItems": (19, "bool"),
        },
        "Response": {"description": (1, "string"), "schema": (2, "SchemaItem")},
        "Schema": {
            "$ref": (1, "string"),
            "format": (2, "string"),
            "title": (3, "string"),
            "description": (4, "string"),
            "default": (5, "any"),
            "maximum": (7, "double"),
            "minimum": (9, "double"),
            "maxLength": (11, "int"),
            "minLength": (12, "int"),
            "pattern": (13, "string"),
            "maxItems": (14, "int"),
            "minItems": (15, "int"),
            "uniqueItems": (16, "bool"),
            "required": (19, "strings"),
            "enum": (20, "anys"),
            "additionalProperties": (21, "AdditionalProperties"),
            "type": (22, "StringList"),
            "items": (23, "Items"),
            "allOf": (24, "[Schema]"),
            "properties": (25, "{Schema}"),
        },
        "ApiKey": {"type": (1, "string"), "name": (2, "string"), "in": (3, "string"), "description": (4, "string")},
    },
    {
        "Paths": _paths(2),
        "Responses": _responses(1, "ResponseValue"),
        "ResponseValue": _one_of((_always, 1, "Response")),
        "SchemaItem": _one_of((_always, 1, "Schema")),
        "ParametersItem": _one_of((_always, 1, "Parameter")),
        "Parameter": _one_of((lambda t: t["in"] == "body", 1, "BodyParameter"), (_always, 2, "NonBodyParameter")),
        "NonBodyParameter": _one_of((lambda t: t["in"] == "query", 3, "QueryParameter"), (_always, 4, "PathParameter")),
        "AdditionalProperties": _one_of((_is_boolean, 2, "bool"), (_always, 1, "Schema")),
        "StringList": _string_list,
        "Items": _one_of((_always, 1, "Schema")),
        "SecurityDefinition": _one_of((_always, 2, "ApiKey")),
        "SecurityRequirement": _security_requirement,
    },
    {"Operation": 13, "Schema": 31},
)

V3 = Dialect(
    {
        "Document": {
            "openapi": (1, "string"), "info": (2, "Info"), "paths": (4, "Paths"), "components": (5, "Components"),
            "security": (6, "[SecurityRequirement]"),
        },
        "Info": {"title": (1, "string"), "description": (2, "string"), "version": (6, "string")},
        "Components": {"schemas": (1, "{SchemaOrReference}"), "securitySchemes": (7, "{SecuritySchemeOrReference}")},
        "PathItem": {m: (n, "Operation") for m, n in _OPERATIONS_V3.items()}
        | {"parameters": (13, "[ParameterOrReference]")},
        "Operation": {
            "tags": (1, "strings"), "summary": (2, "string"), "description": (3, "string"), "operationId": (5, "string"),
            "parameters": (6, "[ParameterOrReference]"), "requestBody": (7, "RequestBodyOrReference"),
            "responses": (8, "Responses"),
        },
        "Parameter": {
            "name": (1, "string"), "in": (2, "string"), "description": (3, "string"), "required": (4, "bool"),
            "schema": (10, "SchemaOrReference"),
        },
        "RequestBody": {"description": (1, "string"), "content": (2, "{MediaType}"), "required": (3, "bool")},
        "MediaType": {"schema": (1, "SchemaOrReference")},
        "Response": {"description": (1, "string"), "content": (3, "{MediaType}")},
        "Reference": {"$ref": (1, "string")},
        "Schema": {
            "nullable": (1, "bool"), "title": (9, "string"), "maximum": (11, "double"), "minimum": (13, "double"),
            "maxLength": (15, "int"), "minLength": (16, "int"), "pattern": (17, "string"), "maxItems": (18, "int"),
            "minItems": (19, "int"), "uniqueItems": (20, "bool"), "required": (23, "strings"), "enum": (24, "anys"),
            "type": (25, "string"), "allOf": (26, "[SchemaOrReference]"), "oneOf": (27, "[SchemaOrReference]"),
            "anyOf": (28, "[SchemaOrReference]"), "items": (30, "Items"), "properties": (31, "{SchemaOrReference}"),
            "additionalProperties": (32, "AdditionalProperties"), "default": (33, "Default"),
            "description": (34, "string"), "format": (35, "string"),
        },
        "SecurityScheme": {
            "type": (1, "string"), "description": (2, "string"), "name": (3, "string"), "in": (4, "string"),
        },
    },
    {
        "Paths": _paths(1),
        "Responses": _responses(2, "ResponseOrReference"),
        "ResponseOrReference": _one_of((_always, 1, "Response")),
        "ParameterOrReference": _one_of((_always, 1, "Parameter")),
        "RequestBodyOrReference": _one_of((_always, 1, "RequestBody")),
        "SchemaOrReference": _one_of((_is_reference, 2, "Reference"), (_always, 1, "Schema")),
        "SecuritySchemeOrReference": _one_of((_always, 1, "SecurityScheme")),
        "AdditionalProperties": _one_of((_is_boolean, 2, "bool"), (_always, 1, "SchemaOrReference")),
        "Items": _one_of((_always, 1, "SchemaOrReference")),
        "Default": _default_v3,
        "SecurityRequirement": _security_requirement,
    },
    {"Operation": 13, "Schema": 36},
)  # fmt: skip
