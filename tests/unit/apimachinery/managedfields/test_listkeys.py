"""Item keys of sets and associative lists."""

from __future__ import annotations

import pytest

from steersman.apimachinery.managedfields.fieldset import in_order
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


def test_element_of_uses_the_item_key():
    keys = item_keys(BY_NAME)
    assert keys.elements_of([{"name": "a"}, {"name": "b", "x": 1}, {"name": "a"}]) == [
        'k:{"name":"a"}',
        'k:{"name":"b"}',
        'k:{"name":"a"}',
    ]


def test_element_of_uses_the_default_of_a_missing_key():
    assert item_keys(BY_PORT).element_of({"port": 53}) == 'k:{"port":53,"protocol":"TCP"}'
    assert item_keys(BY_PORT).element_of({"port": 53, "protocol": "TCP"}) == 'k:{"port":53,"protocol":"TCP"}'


def test_element_of_distinguishes_items_with_a_missing_key():
    keys = item_keys(ListOf(ITEM, list_type=ListType.MAP, keys=("name", "protocol")))
    items = [{"name": "a"}, {"name": "a", "protocol": "TCP"}, {"protocol": "TCP"}]
    elements = ['k:{"name":"a"}', 'k:{"name":"a","protocol":"TCP"}', 'k:{"protocol":"TCP"}']
    assert keys.elements_of(items) == keys.elements_of(items) == elements


def test_element_of_uses_the_zero_value_of_fields_without_omitempty():
    assert item_keys(BY_PORT).element_of({}) == 'k:{"port":0,"protocol":"TCP"}'


def test_element_of_distinguishes_booleans_and_numbers():
    keys = item_keys(BY_NAME)
    assert [keys.element_of({"name": value}) for value in (1, True, 1)] == [
        'k:{"name":1}',
        'k:{"name":true}',
        'k:{"name":1}',
    ]


def test_element_of_accepts_any_scalar_key():
    assert item_keys(BY_NAME).element_of({"name": ["x"]}) == 'k:{"name":["x"]}'


def test_element_of_a_set_item_is_its_value():
    assert item_keys(SET).elements_of(["a", "b", 1]) == ['v:"a"', 'v:"b"', "v:1"]


@pytest.mark.parametrize(
    ("list_type", "item", "message"),
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
def test_element_of_raises_for_an_unusable_key(list_type, item, message):
    with pytest.raises(UnkeyedItemError) as error:
        item_keys(list_type).element_of(item)
    assert str(error.value) == message


def test_in_order_sorts_items_by_their_only_text_key_as_elements_are_sorted():
    texts = ["b", "a b", "a", "a-b", 'a"b', "é", "a!", "a", ""]
    keys, items = item_keys(BY_NAME), [{"name": text, "size": n} for n, text in enumerate(texts)]
    ordered = keys.in_order(items)
    assert ordered is not None
    assert list(dict.fromkeys(keys.elements_of(ordered))) == list(in_order({e: {} for e in keys.elements_of(items)}))
    assert [item["size"] for item in ordered if item["name"] == "a"] == [2, 7]


@pytest.mark.parametrize(
    ("list_type", "items"),
    [(BY_PORT, [{"port": 2}, {"port": 1}]), (SET, ["b", "a"]), (BY_NAME, [{"name": "b"}, {"size": 1}])],
)
def test_in_order_returns_none_without_one_text_as_key(list_type, items):
    assert item_keys(list_type).in_order(items) is None


def test_element_cache_is_bounded():
    keys = item_keys(ListOf(TEXT, list_type=ListType.SET))
    elements = keys.elements_of([str(number) for number in range(5000)])
    assert len(set(elements)) == 5000
    assert keys.element_of("4999") == 'v:"4999"'
