"""API versions that stored objects may have."""

from __future__ import annotations

import re

import pytest
from codegen.protobuf import definition_name, facts

from steersman.apiserver.kinds.stored_versions import readable_versions, stored_layout
from steersman.schema.resources import table

STORED = [r for r in table().resources if r.key_prefix and r.api_version == r.storage_api_version]
#: Message → fields, by definition name.
MESSAGES = {definition_name(name): (name, fields) for name, fields in facts().items()}


def test_served_versions_are_readable():
    for resource in table().resources:
        if resource.key_prefix and resource.api_version != resource.storage_api_version:
            stored = next(r for r in STORED if r.key_prefix == resource.key_prefix)
            assert readable_versions(stored)[resource.api_version] is not None


def test_storage_version_needs_no_conversion():
    assert all(resource.storage_api_version not in readable_versions(resource) for resource in STORED)


@pytest.mark.parametrize("resource", STORED, ids=lambda r: r.group_resource)
def test_versions_without_conversion_have_the_same_messages_where_upstreams_are_recorded(resource):
    for api_version, conversion in readable_versions(resource).items():
        other = f"{resource.definition.rsplit('.', 2)[0]}.{api_version.rpartition('/')[2]}.{resource.kind}"
        if conversion is None and other in MESSAGES:
            assert shape(other) == shape(resource.definition)


def shape(definition: str, depth: int = 0) -> dict:
    """Return field → number and type of a message, with the messages of its own API version inlined."""
    name, fields = MESSAGES[definition]
    module = name.rpartition(".")[0]
    shown = {}
    for field, (number, type_, *flags) in fields.items():
        target = re.search(rf"{re.escape(module)}\.\w+", type_)
        inner = shape(definition_name(target.group()), depth + 1) if target and depth < 8 else type_
        shown[field] = (number, inner, flags)
    return shown


def test_stored_layout_of_an_unknown_resource_is_an_error():
    with pytest.raises(KeyError):
        stored_layout("gizmos.example.com", "application/json")


def test_stored_layout_has_the_storage_version():
    assert stored_layout("horizontalpodautoscalers.autoscaling", "application/json").api_version == "autoscaling/v2"
