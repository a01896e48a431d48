from __future__ import annotations

import pytest
from codegen.resources import resource_table
from codegen.sources import definitions
from codegen.types import kinds_of


@pytest.fixture(scope="module")
def table():
    return resource_table(kinds_of(definitions()))


def rows(table, name):
    return [row for row in table["resources"] if row["name"] == name]


def test_groups_are_ordered_by_priority_then_name(table):
    order = [(-group["priority"], group["name"]) for group in table["groups"]]
    assert order == sorted(order)


def test_resource_table_has_prefix_and_version_of_stored_resources(table):
    [v1, v2] = rows(table, "horizontalpodautoscalers")
    assert {row["key_prefix"] for row in (v1, v2)} == {"/registry/horizontalpodautoscalers"}
    assert {row["storage_api_version"] for row in (v1, v2)} == {"autoscaling/v2"}


def test_resource_table_has_no_prefix_of_unstored_resources(table):
    [row] = rows(table, "tokenreviews")
    assert "key_prefix" not in row
    assert "storage_api_version" not in row


def test_subresources_come_by_name_with_those_of_the_overlay(table):
    [pods] = rows(table, "pods")
    names = [subresource["name"] for subresource in pods["subresources"]]
    assert names == sorted(names)
    assert {"exec", "status"} < set(names)
