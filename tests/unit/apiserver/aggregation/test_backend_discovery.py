"""Discovery documents of backends."""

import pytest
from tests.unit.apiserver.aggregation.backends import RESOURCES

from steersman.apiserver.aggregation.backend_discovery import (
    DiscoveryError,
    convert_resource_list,
    read_document,
    resources_in,
)


def test_resources_in_returns_the_rows_of_one_version():
    versions = [{"version": "v1", "resources": [{"resource": "things"}]}]
    document = {"items": [{"metadata": {"name": "g"}, "versions": versions}]}
    assert resources_in(document, "g", "v1") == ({"resource": "things"},)
    assert resources_in(document, "g", "v2") is None


def test_convert_resource_list_puts_subresources_below_their_parent():
    [row] = convert_resource_list(RESOURCES)
    assert (row["resource"], row["verbs"], row["scope"]) == ("things", ["get", "list"], "Namespaced")
    assert [subresource["subresource"] for subresource in row["subresources"]] == ["status"]


def test_convert_resource_list_makes_parents_that_are_not_listed():
    [row] = convert_resource_list({"resources": [{"name": "a/b", "kind": "B", "verbs": ["create"]}]})
    assert (row["resource"], row["verbs"]) == ("a", [])


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"kind": "Status"}', b"[" * 100_000, b'{"kind": "\xd8"}'])
def test_read_document_rejects_other_documents(body):
    with pytest.raises(DiscoveryError):
        read_document(body, "APIResourceList")


def test_convert_resource_list_ignores_rows_of_other_types():
    assert convert_resource_list({"resources": [1, {"name": "a", "verbs": "get"}]})[0]["verbs"] == []


@pytest.mark.parametrize(
    "row",
    [
        {"resource": {}},
        {"verbs": "get"},
        {"shortNames": [1]},
        {"responseKind": "A"},
        {"subresources": [{"acceptedTypes": [[]]}]},
    ],
)
def test_resources_in_rejects_rows_that_cannot_be_published(row):
    document = {"items": [{"metadata": {"name": "g"}, "versions": [{"version": "v1", "resources": [row]}]}]}
    with pytest.raises(DiscoveryError, match="resources that cannot be decoded"):
        resources_in(document, "g", "v1")


@pytest.mark.parametrize("metadata", [["g"], "g", None])
def test_resources_in_skips_groups_without_a_name(metadata):
    assert resources_in({"items": [{"metadata": metadata, "versions": []}]}, "g", "v1") is None
