"""Conversion of Swagger 2.0 to OpenAPI 3.0."""

import msgspec
import pytest

from steersman.apiserver.openapi.v2_to_v3 import convert_document, convert_path, convert_schema

REFERENCE = {"$ref": "#/definitions/com.example.Thing"}
CONVERTED = {"$ref": "#/components/schemas/com.example.Thing"}


def converted(**fields):
    document = convert_document({"swagger": "2.0", "info": {"title": "T", "version": "1"}, **fields})
    return msgspec.json.decode(b"".join(document.json))


def test_document_has_info_paths_and_components():
    oauth = {"type": "oauth2", "flow": "implicit", "authorizationUrl": "https://a", "scopes": {"s": "S"}}
    token = {"type": "apiKey", "name": "authorization", "in": "header"}
    assert converted(
        paths={"/a": {}, "x-other": 1},
        definitions={"com.example.Thing": {"type": "object", "properties": {"next": REFERENCE}}},
        securityDefinitions={"oauth": oauth, "token": token},
        responses={"missing": {"description": "M", "schema": REFERENCE}},
        produces=["application/json"],
        externalDocs={"url": "https://docs", "x-other": 1},
    ) == {
        "openapi": "3.0.0",
        "info": {"title": "T", "version": "1"},
        "paths": {"/a": {}},
        "components": {
            "schemas": {"com.example.Thing": {"type": "object", "properties": {"next": CONVERTED}}},
            "responses": {"missing": {"description": "M", "content": {"application/json": {"schema": CONVERTED}}}},
            "securitySchemes": {
                "oauth": {
                    "type": "oauth2",
                    "flows": {"implicit": {"authorizationUrl": "https://a", "scopes": {"s": "S"}}},
                },
                "token": token,
            },
        },
        "externalDocs": {"url": "https://docs"},
    }


def test_reference_with_other_members_moves_into_all_of():
    schema = {**REFERENCE, "description": "D", "default": {}}
    assert convert_schema(schema) == {"description": "D", "default": {}, "allOf": [CONVERTED]}
    assert convert_schema({"items": REFERENCE, "additionalProperties": True}) == {
        "items": CONVERTED,
        "additionalProperties": True,
    }
    assert convert_schema({"allOf": [REFERENCE], "not": REFERENCE}) == {"allOf": [CONVERTED], "not": CONVERTED}
    assert convert_schema({"$ref": "other.json"}) == {"$ref": "other.json"}


def test_body_becomes_a_request_body_and_simple_parameters_get_a_schema():
    operation = {
        "operationId": "create",
        "tags": ["t"],
        "consumes": ["application/json", "application/yaml"],
        "produces": ["application/json"],
        "parameters": [
            {"name": "body", "in": "body", "required": True, "schema": REFERENCE},
            {"name": "pretty", "in": "query", "type": "string", "uniqueItems": True, "x-a": 1},
            {"$ref": "#/parameters/limit"},
        ],
        "responses": {
            "200": {"description": "OK", "schema": REFERENCE, "headers": {"Location": {"type": "string"}}},
            "401": {"description": "Unauthorized"},
            "default": {"$ref": "#/responses/missing"},
        },
        "x-kubernetes-action": "post",
    }
    content = {"schema": CONVERTED}
    assert convert_path(
        {"post": operation, "parameters": [{"name": "n", "in": "path", "type": "string"}], "x-p": 1}
    ) == {
        "x-p": 1,
        "post": {
            "tags": ["t"],
            "operationId": "create",
            "x-kubernetes-action": "post",
            "requestBody": {"content": {"application/json": content, "application/yaml": content}},
            "parameters": [
                {"name": "pretty", "in": "query", "schema": {"type": "string", "uniqueItems": True}, "x-a": 1},
                {"$ref": "#/components/parameters/limit"},
            ],
            "responses": {
                "200": {"description": "OK", "content": {"application/json": content}},
                "401": {"description": "Unauthorized"},
                "default": {"$ref": "#/components/responses/missing"},
            },
        },
        "parameters": [{"name": "n", "in": "path", "schema": {"type": "string"}}],
    }


@pytest.mark.parametrize("garbage", [None, [], {}, {"swagger": "3.0"}])
def test_other_documents_are_rejected(garbage):
    with pytest.raises(ValueError, match="Swagger"):
        convert_document(garbage)


def test_parts_of_the_wrong_type_are_dropped():
    document = converted(
        paths={"/a": {"get": 1, "post": {"parameters": 5, "responses": []}}}, definitions=3, responses=1
    )
    assert document["paths"] == {"/a": {"post": {"responses": {}}}}
    assert document["components"] == {"schemas": {}}
