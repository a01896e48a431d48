"""Properties of the strategies of all kinds, on random objects."""

from __future__ import annotations

import copy
from ipaddress import ip_network
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.apiserver.kinds.samples import CONTEXT, CREATED, NOW

from steersman.apimachinery.trees import Tree
from steersman.apimachinery.typemodel import ListOf, MapOf, Scalar, ScalarKind, Struct, Type
from steersman.apiserver.generic.strategy import Strategy
from steersman.apiserver.kinds.core.service.allocation import ServiceAllocator
from steersman.apiserver.kinds.core.service.strategy import ServiceStrategy
from steersman.apiserver.kinds.shared.allocation import PortRange
from steersman.apiserver.kinds.strategies import strategy_class
from steersman.asynckit.clock import FakeClock
from steersman.schema.decoding import decode
from steersman.schema.loader import struct
from steersman.schema.resources import Resource, table
from steersman.storage.memory import MemoryStore

STORABLE = [resource for resource in table().resources if resource.key_prefix]
STORED = [resource for resource in STORABLE if resource.api_version == resource.storage_api_version]
WITH_STATUS = [resource for resource in STORED if any(child.name == "status" for child in resource.subresources)]

#: Values of each scalar type, including zeros.
LEAVES: dict[ScalarKind, tuple[Any, ...]] = {
    ScalarKind.STRING: ("", "a", "b/c:1", "10.0.0.1"),
    ScalarKind.INT32: (0, 1, 7),
    ScalarKind.INT64: (0, 1, 7),
    ScalarKind.NUMBER: (0, 1.5),
    ScalarKind.BOOLEAN: (False, True),
    ScalarKind.BYTES: ("", "YQ=="),
    ScalarKind.TIME: (CREATED,),
    ScalarKind.MICRO_TIME: ("2026-01-01T00:00:00.000000Z",),
    ScalarKind.DURATION: ("1s",),
    ScalarKind.QUANTITY: ("0", "1500u", "2Gi"),
    ScalarKind.INT_OR_STRING: (0, 5, "25%"),
    ScalarKind.ANY: ({}, {"a": 1}),
    ScalarKind.RAW: ({}, {"a": 1}),
    ScalarKind.SCHEMA_OR_BOOL: (True,),
    ScalarKind.SCHEMA_OR_ARRAY: ({},),
    ScalarKind.SCHEMA_OR_STRINGS: (["a"],),
}


def name_of(resource: Resource) -> str:
    return f"{resource.name}.{resource.api_version}"


def services() -> ServiceStrategy:
    """Return the Service strategy with its dependencies."""
    return ServiceStrategy(
        ServiceAllocator(
            MemoryStore(clock=FakeClock()),
            networks=(ip_network("10.96.0.0/24"),),
            ports=PortRange(30000, 32767),
            dice=Random(0),
        )
    )


def strategy_of(resource: Resource) -> Strategy:
    return {"services": services}.get(resource.group_resource, strategy_class(resource))()


def value_of(type_: Type, dice: Random, depth: int) -> Any:
    """Return a random value of a type; fields of objects may be absent."""
    match type_:
        case Scalar():
            return dice.choice(type_.enum or LEAVES[type_.kind])
        case ListOf():
            return [value_of(type_.item, dice, depth - 1) for _ in range(dice.choice((0, 1, 1, 2)))]
        case MapOf():
            return {key: value_of(type_.value, dice, depth - 1) for key in ("a", "cpu")[: dice.choice((0, 1, 2))]}
        case Struct() if depth > 0:
            return {
                name: value_of(field.type, dice, depth - 1)
                for name, field in type_.fields.items()
                if dice.random() < 0.5
            }
    return {}


def objects_of(resource: Resource) -> st.SearchStrategy[Tree]:
    """Return a hypothesis strategy of decoded objects with spec and name."""
    type_ = struct(resource.definition)

    def build(seed: int) -> Tree:
        given_fields = {"spec": {}, **value_of(type_, Random(seed), 12)}
        given_fields["metadata"] = {"name": "a", "uid": "u", "labels": {"a": "b"}, "creationTimestamp": CREATED}
        return decode(type_, given_fields).tree

    return st.integers(0, 2**32).map(build)


@pytest.mark.parametrize("resource", STORABLE, ids=name_of)
@given(data=st.data())
@settings(max_examples=12, deadline=None)
def test_default_is_idempotent_for_every_kind(resource, data):
    strategy, tree = strategy_of(resource), data.draw(objects_of(resource))
    strategy.default(tree, resource.version)
    once = copy.deepcopy(tree)
    strategy.default(tree, resource.version)
    assert tree == once


@pytest.mark.parametrize("resource", STORABLE, ids=name_of)
@given(data=st.data())
@settings(max_examples=12, deadline=None)
def test_defaulted_objects_match_their_type(resource, data):
    strategy, tree = strategy_of(resource), data.draw(objects_of(resource))
    strategy.default(tree, resource.version)
    assert decode(struct(resource.definition), tree).unknown == []


@pytest.mark.parametrize("resource", STORED, ids=name_of)
@given(data=st.data())
@settings(max_examples=12, deadline=None)
def test_cells_match_columns(resource, data):
    strategy, tree = strategy_of(resource), data.draw(objects_of(resource))
    strategy.default(tree, resource.version)
    assert len(strategy.cells(tree, NOW)) == len(strategy.columns)


@pytest.mark.parametrize("resource", STORED, ids=name_of)
@given(data=st.data())
@settings(max_examples=12, deadline=None)
def test_field_labels_return_text(resource, data):
    strategy, tree = strategy_of(resource), data.draw(objects_of(resource))
    strategy.default(tree, resource.version)
    assert [type(text(tree)) for text in strategy.field_labels.values()] == [str] * len(strategy.field_labels)


@pytest.mark.parametrize("resource", WITH_STATUS, ids=name_of)
@given(data=st.data())
@settings(max_examples=12, deadline=None)
def test_prepare_for_status_update_keeps_spec_of_every_kind(resource, data):
    strategy, old, new = strategy_of(resource), *(data.draw(objects_of(resource)) for _ in range(2))
    strategy.default(old, resource.version)
    strategy.default(new, resource.version)
    spec = copy.deepcopy(old["spec"])
    strategy.prepare_for_status_update(CONTEXT, new, old)
    assert new["spec"] == spec


@pytest.mark.parametrize("resource", STORED, ids=name_of)
def test_column_descriptions_exist(resource):
    described = [column for column in strategy_class(resource).columns if column.field]
    assert all(column.text() for column in described)
