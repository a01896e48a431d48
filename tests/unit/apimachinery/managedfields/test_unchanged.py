"""Detection of repeated applies without merging."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.apimachinery.managedfields import applying
from steersman.apimachinery.managedfields.shapes import root_shape
from steersman.apimachinery.managedfields.unchanged import repeats

SPEC = {
    "replicas": 1,
    "limits": {"a": "1"},
    "args": ["x"],
    "tags": ["b", "a"],
    "ports": [{"port": 80}, {"port": 81, "name": "n"}],
    "nested": {"n": {"size": 1}},
    "anything": {"a": 1},
}
CONFIG = {"apiVersion": "e/v1", "kind": "Widget", "metadata": {"name": "a", "labels": {"x": "y"}}, "spec": SPEC}
LIVE = copy.deepcopy(CONFIG)
LIVE["metadata"].update(uid="u", resourceVersion="7")
LIVE["spec"]["enabled"] = True
LIVE["spec"]["tags"].insert(1, "z")
LIVE["spec"]["ports"][0]["target"] = 80
LIVE["spec"]["ports"].append({"port": 1})


def fields_of(widget, config):
    return applying.ownable(root_shape(widget).below(config))


def test_repeats_is_true_for_the_live_values(widget):
    assert repeats(CONFIG, LIVE, fields_of(widget, CONFIG), widget)


CHANGES = {
    "another value": {"replicas": 2},
    "a boolean for a number": {"anything": {"a": True}},
    "another order": {"tags": ["a", "b"]},
    "more items": {"tags": ["b", "a", "c"]},
    "an item twice": {"tags": ["b", "b"]},
    "fewer items": {"tags": ["b"]},
    "another part of an item": {"ports": [{"port": 80, "name": "m"}, {"port": 81, "name": "n"}]},
    "an item without its key": {"ports": [{"name": "x"}, {"port": 81, "name": "n"}]},
    "more keys": {"limits": {"a": "1", "b": "2"}},
    "another map": {"limits": {"b": "1"}},
    "null": {"limits": None},
    "a list for a map": {"limits": ["a"]},
    "an atomic list": {"args": ["x", "y"]},
    "one field more": {"enabled": True},
    "deep inside": {"nested": {"n": {"size": 2}}},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_repeats_is_false_for_another_value(widget, change):
    config = {**CONFIG, "spec": {**SPEC, **change}}
    assert not repeats(config, LIVE, fields_of(widget, CONFIG), widget)


@pytest.mark.parametrize("name", SPEC)
def test_repeats_is_false_for_fewer_fields(widget, name):
    spec = {key: value for key, value in SPEC.items() if key != name}
    assert not repeats({**CONFIG, "spec": spec}, LIVE, fields_of(widget, CONFIG), widget)


@pytest.mark.parametrize("metadata", [{"name": "a"}, {"name": "a", "resourceVersion": "6", "labels": {"x": "y"}}, None])
def test_repeats_compares_metadata(widget, metadata):
    assert not repeats({**CONFIG, "metadata": metadata}, LIVE, fields_of(widget, CONFIG), widget)


def test_repeats_is_false_when_the_owner_lost_a_field(widget):
    fields = fields_of(widget, CONFIG)
    del fields["f:spec"]["f:ports"]['k:{"port":80,"protocol":"TCP"}']["."]
    assert not repeats(CONFIG, LIVE, fields, widget)


NAMES = st.sampled_from(["a", "b", "c"])
SPECS = st.fixed_dictionaries(
    {},
    optional={
        "replicas": st.integers(0, 1),
        "limits": st.dictionaries(NAMES, NAMES, max_size=2),
        "tags": st.lists(NAMES, max_size=3, unique=True),
        "parts": st.lists(st.fixed_dictionaries({"name": NAMES}), max_size=2, unique_by=lambda part: part["name"]),
        "extra": st.dictionaries(NAMES, st.booleans() | st.integers(0, 1) | st.dictionaries(NAMES, NAMES)),
    },
)


@settings(max_examples=100)
@given(SPECS, SPECS)
def test_repeats_agrees_with_a_full_apply(widget, standing, applied):
    def write(live, spec, manager):
        return applying.apply(
            live,
            {"apiVersion": "e/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": spec},
            struct=widget,
            kind="Widget",
            manager=manager,
            force=True,
            api_version="e/v1",
            time="2024-01-01T00:00:01Z",
            defaulter=lambda tree: tree,
        )

    live = write(write(None, standing, "two"), applied, "one")
    short = write(live, applied, "one")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(applying, "repeats", lambda *_: False)
        assert write(live, applied, "one") == short
