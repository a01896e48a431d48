"""Objects by key and by index."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.client.scripted import config_map

from steersman.apimachinery.selectors import SelectorError
from steersman.client.objects import key_of
from steersman.client.store import Lister, Store, keyed

A, B = config_map("a", 1, labels={"app": "x", "tier": "1"}), config_map("b", 2, labels={"app": "y"})


def filled(*objects):
    store = Store()
    for obj in objects:
        store.put(key_of(obj), obj)
    return store, Lister(store)


def by_color(obj):
    return obj["data"].values()


def test_lister_gets_objects_by_name_and_key():
    _, lister = filled(A, B)
    assert (lister.get("a", namespace="default"), lister.by_key("default/b"), lister.get("a")) == (A, B, None)
    assert (len(lister), list(lister), lister.keys()) == (2, [A, B], ["default/a", "default/b"])


@pytest.mark.parametrize(
    ("selector", "expected"),
    [("", [A, B]), ("app=x", [A]), ("app in (x,y),!tier", [B]), ({"app": "x", "tier": "1"}, [A])],
)
def test_list_filters_by_labels(selector, expected):
    assert filled(A, B)[1].list(label_selector=selector) == expected


def test_list_rejects_a_malformed_selector():
    with pytest.raises(SelectorError):
        filled(A)[1].list(label_selector="a b c")


def test_list_by_namespace_reflects_changes():
    store, lister = filled(A)
    assert lister.list(namespace="default") == [A]
    store.put("default/b", B)
    store.remove("default/a")
    assert (lister.list(namespace="default"), lister.list(namespace="other")) == ([B], [])


def test_add_index_indexes_existing_objects():
    store, lister = filled(config_map("a", 1, x="red", y="blue"), config_map("b", 1, x="red"))
    store.add_index("color", by_color)
    store.add_index("color", by_color)
    assert [key_of(obj) for obj in lister.by_index("color", "red")] == ["default/a", "default/b"]
    assert sorted(store.index_values("color")) == ["blue", "red"]


def test_add_index_rejects_another_function():
    store, lister = filled()
    store.add_index("color", by_color)
    with pytest.raises(ValueError, match="there is another index 'color'"):
        store.add_index("color", key_of)
    with pytest.raises(LookupError, match="there is no index 'size'"):
        lister.by_index("size", "1")


def test_remove_of_a_missing_key_returns_none():
    assert filled()[0].remove("default/a") is None


def test_keyed_keeps_the_last_duplicate():
    assert keyed([A, {**A, "data": {"x": "y"}}])["default/a"]["data"] == {"x": "y"}


_OPERATIONS = st.lists(
    st.tuples(st.sampled_from("abc"), st.none() | st.dictionaries(st.sampled_from("xy"), st.sampled_from("rgb")))
)


@given(_OPERATIONS)
def test_index_equals_a_linear_search(operations):
    store, lister = filled()
    store.add_index("color", by_color)
    for name, data in operations:
        if data is None:
            store.remove(f"default/{name}")
        else:
            store.put(f"default/{name}", config_map(name, 1, **data))
    for color in "rgb":
        keys = {key_of(obj) for obj in lister.by_index("color", color)}
        assert keys == {key_of(obj) for obj in lister if color in by_color(obj)}
    assert set(store.index_values("color")) == {color for obj in lister for color in by_color(obj)}
