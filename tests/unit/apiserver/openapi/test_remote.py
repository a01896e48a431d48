"""Merging of the documents of aggregated API servers."""

import json

import pytest

from steersman.apiserver.openapi.document import Document
from steersman.apiserver.openapi.remote import RemoteSwagger, merge, select_paths

THING = {"properties": {"metadata": {"$ref": "#/definitions/Meta"}}}
META = {"type": "object"}
LIST = {"get": {"schema": {"$ref": "#/definitions/Thing"}}}


def swagger(**fields):
    return {
        "swagger": "2.0",
        "paths": {"/apis/a/v1/things": LIST, "/apis/a/v1beta1/things": LIST, "/apis/a/v1/": {}, "/healthz": {}},
        "definitions": {"Thing": THING, "Meta": META, "Unused": {}},
        **fields,
    }


def test_select_paths_keeps_a_group_version_and_what_it_refers_to():
    selected = select_paths(swagger(), "/apis/a/v1")
    assert set(selected.paths) == {"/apis/a/v1/things", "/apis/a/v1/"}
    assert set(selected.definitions) == {"Thing", "Meta"}


@pytest.mark.parametrize(
    "document", [None, [], {}, swagger(paths=None), swagger(definitions=[1]), swagger(swagger="3.0")]
)
def test_select_paths_refuses_what_is_no_swagger_document(document):
    with pytest.raises(ValueError, match="not a Swagger"):
        select_paths(document, "/apis/a/v1")


def test_merge_shares_equal_definitions_and_renames_others():
    own = Document({"/version": b"{}"}, {"Meta": json.dumps(META).encode(), "Thing": b'{"a":1}'}, is_v3=False)
    merged = json.loads(b"".join(merge(own, [select_paths(swagger(), "/apis/a/v1")]).json))
    assert set(merged["paths"]) == {"/version", "/apis/a/v1/things", "/apis/a/v1/"}
    assert merged["definitions"] == {"Meta": META, "Thing": {"a": 1}, "Thing_v2": THING}
    assert merged["paths"]["/apis/a/v1/things"]["get"]["schema"] == {"$ref": "#/definitions/Thing_v2"}


def test_merge_keeps_paths_that_are_there():
    own = Document({"/apis/a/v1/things": b'{"own":1}'}, {}, is_v3=False)
    merged = json.loads(b"".join(merge(own, [RemoteSwagger({"/apis/a/v1/things": LIST}, {})]).json))
    assert merged["paths"] == {"/apis/a/v1/things": {"own": 1}}
