"""Path elements."""

from __future__ import annotations

import pytest

from steersman.apimachinery.managedfields.elements import canonical, element_text, list_item, order, path_text, set_item


def test_list_item_sorts_its_keys():
    assert list_item({"protocol": "TCP", "port": 80}) == 'k:{"port":80,"protocol":"TCP"}'


@pytest.mark.parametrize(
    ("value", "element"),
    [("a", 'v:"a"'), (3, "v:3"), (True, "v:true"), ('q"', 'v:"q\\""'), ("<", 'v:"\\u003c"')],
)
def test_set_item_is_escaped_json(value, element):
    assert set_item(value) == element


@pytest.mark.parametrize(
    ("written", "retained"),
    [
        ("f:a b", "f:a b"),
        ('k:{ "b" : 2, "a":"x"}', 'k:{"a":"x","b":2}'),
        ('v: "x"', 'v:"x"'),
        ("i:07", "i:7"),
        ("z:later", None),
    ],
)
def test_canonical_normalizes_elements_of_clients(written, retained):
    assert canonical(written) == retained


@pytest.mark.parametrize("written", ["", "f", "fx", "k:[]", "k:{", "v:", "i:x"])
def test_canonical_rejects_malformed_elements(written):
    with pytest.raises(ValueError):
        canonical(written)


@pytest.mark.parametrize(
    ("element", "text"),
    [
        ("f:spec", ".spec"),
        ('k:{"port":80,"protocol":"TCP"}', '[port=80,protocol="TCP"]'),
        ('v:"x"', '[="x"]'),
        ("i:3", "[3]"),
    ],
)
def test_element_text_formats_each_type_of_element(element, text):
    assert element_text(element) == text


def test_path_text_joins_elements():
    assert path_text(("f:spec", 'k:{"name":"c"}', "f:image")) == '.spec[name="c"].image'


def test_order_sorts_fields_items_values_positions():
    elements = ["i:1", 'v:"a"', 'k:{"port":80}', "f:b", 'k:{"port":443}', "f:a", ".", "v:2", "v:10"]
    assert sorted(elements, key=order) == [
        ".",
        "f:a",
        "f:b",
        'k:{"port":80}',
        'k:{"port":443}',
        "v:2",
        "v:10",
        'v:"a"',
        "i:1",
    ]


@pytest.mark.parametrize(
    ("element", "expected"),
    [("v:1.0", "v:1"), ('k:{"a":2e0}', 'k:{"a":2}'), ("v:1.5", "v:1.5"), ("i:+1", "i:1"), ("i:007", "i:7")],
)
def test_canonical_writes_whole_numbers_as_integers(element, expected):
    assert canonical(element) == expected


@pytest.mark.parametrize(
    "element", ["i:1_0", "i: 1", "i:٣", "i:99999999999999999999", "v:NaN", "v:-Infinity", "v:1e999"]
)
def test_canonical_rejects_numbers_that_go_rejects(element):
    with pytest.raises(ValueError, match=r"index|number|character"):
        canonical(element)
