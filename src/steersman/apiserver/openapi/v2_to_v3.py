"""Conversion of a Swagger 2.0 document to OpenAPI 3.0, for aggregated API servers that serve version 2 only.

Upstream: ``kube-openapi/pkg/openapiconv``. As there, headers of responses and forms are lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.apiserver.openapi.document import Document

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.apimachinery.trees import Tree

_METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch")
_DEFINITIONS: Final = "#/definitions/"
_SCHEMAS: Final = "#/components/schemas/"
_OPERATION_FIELDS: Final = ("tags", "summary", "description", "deprecated")
_PARAMETER_FIELDS: Final = ("name", "in", "description", "required", "allowEmptyValue")
_SIMPLE_SCHEMA_FIELDS: Final = ("type", "format", "uniqueItems")
_FLOW_FIELDS: Final = ("authorizationUrl", "tokenUrl", "scopes")
_SECURITY_FIELDS: Final = ("type", "description", "name", "in")
#: Members of a schema that hold a schema, a list of schemas, or schemas by name.
_SCHEMA_MEMBERS: Final = ("items", "additionalProperties", "additionalItems", "not")
_SCHEMA_LISTS: Final = ("allOf", "anyOf", "oneOf")
_SCHEMA_MAPS: Final = ("properties", "patternProperties", "definitions")


def convert_document(swagger: Any) -> Document:
    """Return the whole document in version 3. Raises ``ValueError`` if it is not of version 2."""
    if not isinstance(swagger, dict) or swagger.get("swagger") != "2.0":
        raise ValueError("not a Swagger 2.0 document")
    paths = {path: convert_path(_tree(item)) for path, item in _tree(swagger.get("paths")).items() if path[:1] == "/"}
    schemas = {name: convert_schema(schema) for name, schema in _tree(swagger.get("definitions")).items()}
    components: Tree = {"schemas": {}}
    if responses := _tree(swagger.get("responses")):
        media_types = _texts(swagger.get("produces"))
        components["responses"] = {name: _response(_tree(value), media_types) for name, value in responses.items()}
    if security := _tree(swagger.get("securityDefinitions")):
        components["securitySchemes"] = {name: _security_scheme(_tree(value)) for name, value in security.items()}
    frame: Tree = {"openapi": "3.0.0", "info": _tree(swagger.get("info")), "paths": {}, "components": components}
    if documentation := _tree(swagger.get("externalDocs")):
        frame["externalDocs"] = _some(documentation, ("description", "url"))
    return Document(_encoded(paths), _encoded(schemas), is_v3=True, frame=frame)


def convert_path(item: Tree) -> Tree:
    """Return a path item in version 3."""
    path = _extensions(item)
    if isinstance(item.get("$ref"), str):
        path["$ref"] = item["$ref"]
    path |= {method: _operation(item[method]) for method in _METHODS if isinstance(item.get(method), dict)}
    if parameters := _trees(item.get("parameters")):
        path["parameters"] = [_parameter(parameter) for parameter in parameters]
    return path


def convert_schema(schema: Any) -> Any:
    """Return a schema in version 3, where a reference has no members beside it: it moves into ``allOf``."""
    if not isinstance(schema, dict):
        return schema
    converted = dict(schema)
    for name in _SCHEMA_MEMBERS:
        if name in schema:
            member = schema[name]
            converted[name] = [*map(convert_schema, member)] if isinstance(member, list) else convert_schema(member)
    for name in _SCHEMA_LISTS:
        if isinstance(schema.get(name), list):
            converted[name] = [convert_schema(subschema) for subschema in schema[name]]
    for name in _SCHEMA_MAPS:
        if isinstance(schema.get(name), dict):
            converted[name] = {key: convert_schema(subschema) for key, subschema in schema[name].items()}
    reference = converted.get("$ref")
    if not isinstance(reference, str):
        return converted
    target = {"$ref": reference.replace(_DEFINITIONS, _SCHEMAS, 1)}
    del converted["$ref"]
    return {**converted, "allOf": [target]} if converted else target


def _operation(operation: Tree) -> Tree:
    converted = _some(operation, _OPERATION_FIELDS) | _extensions(operation)
    if documentation := _tree(operation.get("externalDocs")):
        converted["externalDocs"] = _some(documentation, ("description", "url"))
    if isinstance(operation.get("operationId"), str):
        converted["operationId"] = operation["operationId"]
    parameters = []
    for parameter in _trees(operation.get("parameters")):
        if parameter.get("name") == "body" and "schema" in parameter:
            converted["requestBody"] = _content(parameter["schema"], _texts(operation.get("consumes")))
        else:
            parameters.append(_parameter(parameter))
    if parameters:
        converted["parameters"] = parameters
    media_types, responses = _texts(operation.get("produces")), _tree(operation.get("responses"))
    converted["responses"] = _extensions(responses) | {
        code: _response(_tree(response), media_types)
        for code, response in responses.items()
        if not code.startswith("x-")
    }
    return converted


def _parameter(parameter: Tree) -> Tree:
    if isinstance(parameter.get("$ref"), str):
        return {"$ref": parameter["$ref"].replace("#/parameters/", "#/components/parameters/", 1)}
    schema = parameter.get("schema")
    simple = _some(parameter, _SIMPLE_SCHEMA_FIELDS)
    converted = convert_schema(schema) if schema is not None else simple
    return _some(parameter, _PARAMETER_FIELDS) | {"schema": converted} | _extensions(parameter)


def _response(response: Tree, media_types: list[str]) -> Tree:
    if isinstance(response.get("$ref"), str):
        return {"$ref": response["$ref"].replace("#/responses/", "#/components/responses/", 1)}
    converted = _some(response, ("description",)) | _extensions(response)
    return converted | _content(response["schema"], media_types) if "schema" in response else converted


def _content(schema: Any, media_types: list[str]) -> Tree:
    converted = {"schema": convert_schema(schema)}
    return {"content": dict.fromkeys(media_types, converted)} if media_types else {}


def _security_scheme(scheme: Tree) -> Tree:
    converted = _some(scheme, _SECURITY_FIELDS) | _extensions(scheme)
    if flow := scheme.get("flow"):
        converted["flows"] = {str(flow): _some(scheme, _FLOW_FIELDS)}
    return converted


def _encoded(trees: Tree) -> dict[str, bytes]:
    return {name: msgspec.json.encode(tree) for name, tree in trees.items()}


def _some(tree: Tree, names: Iterable[str]) -> Tree:
    return {name: tree[name] for name in names if name in tree}


def _extensions(tree: Tree) -> Tree:
    return {name: value for name, value in tree.items() if name.startswith("x-")}


def _tree(value: Any) -> Tree:
    return value if isinstance(value, dict) else {}


def _trees(value: Any) -> list[Tree]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _texts(value: Any) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
