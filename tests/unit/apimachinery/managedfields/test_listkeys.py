"""Which item of a list is which."""

from __future__ import annotations

import pytest

from steersman.apimachinery.managedfields.listkeys import UnkeyedItemError, item_keys
from steersman.apimachinery.typemodel import Field, ListOf, ListType, Scalar, ScalarKind, Struct

TEXT = Scalar(ScalarKind.STRING)
ITEM = Struct(
    "Item",
    {
        "name": Field("name", TEXT),
        "port": Field("port", Scalar(ScalarKind.INT32), required=True),
        "protocol": Field("protocol", TEXT),
    },
)
BY_NAME = ListOf(ITEM, list_type=ListType.MAP, keys=("name",))
BY_PORT = ListOf(ITEM, list_type=ListType.MAP, keys=("protocol", "port"), key_defaults={"protocol": "TCP"})
SET = ListOf(TEXT, list_type=ListType.SET)


def test_items_are_told_apart_by_their_key():
    keys = item_keys(BY_NAME)
    assert keys.elements_of([{"name": "a"}, {"name": "b", "x": 1}, {"name": "a"}]) == [
        'k:{"name":"a"}',
        'k:{"name":"b"}',
        'k:{"name":"a"}',
    ]


def test_a_key_left_out_takes_its_default():
    assert item_keys(BY_PORT).element_of({"port": 53}) == 'k:{"port":53,"protocol":"TCP"}'
    assert item_keys(BY_PORT).element_of({"port": 53, "protocol": "TCP"}) == 'k:{"port":53,"protocol":"TCP"}'


def test_an_item_without_one_of_its_keys_is_another_than_those_with_it():
    keys = item_keys(ListOf(ITEM, list_type=ListType.MAP, keys=("name", "protocol")))
    items = [{"name": "a"}, {"name": "a", "protocol": "TCP"}, {"protocol": "TCP"}]
    elements = ['k:{"name":"a"}', 'k:{"name":"a","protocol":"TCP"}', 'k:{"protocol":"TCP"}']
    assert keys.elements_of(items) == keys.elements_of(items) == elements


def test_a_key_that_go_always_writes_has_its_zero_value_as_default():
    assert item_keys(BY_PORT).element_of({}) == 'k:{"port":0,"protocol":"TCP"}'


def test_booleans_and_numbers_are_different_keys():
    keys = item_keys(BY_NAME)
    assert [keys.element_of({"name": value}) for value in (1, True, 1)] == [
        'k:{"name":1}',
        'k:{"name":true}',
        'k:{"name":1}',
    ]


def test_a_key_may_be_any_value():
    assert item_keys(BY_NAME).element_of({"name": ["x"]}) == 'k:{"name":["x"]}'


def test_set_items_are_their_values():
    assert item_keys(SET).elements_of(["a", "b", 1]) == ['v:"a"', 'v:"b"', "v:1"]


@pytest.mark.parametrize(
    ("list_type", "item", "why"),
    [
        (
            BY_NAME,
            {},
            (
                'associative list with keys has an element that omits all key fields ["name"]'
                " (and doesn't have default values for any key fields)"
            ),
        ),
        (BY_NAME, None, "associative list with keys may not have a null element"),
        (BY_NAME, "a", "associative list with keys may not have non-map elements"),
        (SET, {}, "associative list without keys has an element that's a map type"),
        (SET, [], "not supported: associative list with lists as elements"),
        (SET, None, "associative list without keys has an element that's an explicit null"),
    ],
)
def test_an_item_without_a_usable_key_is_refused(list_type, item, why):
    with pytest.raises(UnkeyedItemError) as error:
        item_keys(list_type).element_of(item)
    assert str(error.value) == why


def test_memory_of_elements_is_bounded():
    keys = item_keys(ListOf(TEXT, list_type=ListType.SET))
    elements = keys.elements_of([str(number) for number in range(5000)])
    assert len(set(elements)) == 5000
    assert keys.element_of("4999") == 'v:"4999"'
