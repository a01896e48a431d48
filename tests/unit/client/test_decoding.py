"""Decoding of objects, lists and watch events."""

import json

import msgspec
import pytest
from lightkube.models.core_v1 import ConfigMap
from lightkube.models.rbac_v1 import ClusterRole
from tests.unit.client.scripted import bookmark, config_map, event

from steersman.client.decoding import decoding_of
from steersman.client.errors import UnexpectedResponse
from steersman.client.resource_types import ResourceType, tree, typed

TYPED = decoding_of(typed(ConfigMap))
TREES = decoding_of(tree("v1", "ConfigMap"))


def encoded(value):
    return json.dumps(value).encode()


class Unresolved(msgspec.Struct):
    """A class whose type hints cannot be read."""

    data: "Missing"  # noqa: F821


def test_type_hints_are_read_with_the_first_object():
    decoding = decoding_of(ResourceType(typed(ConfigMap).info, Unresolved))
    assert decoding.decode_event(bookmark("7")).object.metadata.resourceVersion == "7"
    with pytest.raises(NameError, match="Missing"):
        decoding.decode_object(encoded(config_map("a", 5)))


def test_decode_object_returns_the_model():
    decoded = TYPED.decode_object(encoded(config_map("a", 5, x="y")))
    assert (type(decoded), decoded.metadata.name, decoded.data) == (ConfigMap, "a", {"x": "y"})


def test_decode_list_returns_version_and_continue_token():
    body = {
        "items": [config_map("a", 5)],
        "metadata": {"resourceVersion": "9", "continue": "t", "remainingItemCount": 3},
    }
    decoded = TYPED.decode_list(encoded(body))
    assert [item.metadata.name for item in decoded] == ["a"]
    assert (decoded.resource_version, decoded.continue_token, decoded.remaining_item_count) == ("9", "t", 3)


def test_decode_list_accepts_null_items():
    assert TYPED.decode_list(b'{"items":null,"metadata":{"resourceVersion":"9"}}') == []


def test_decode_list_sets_the_kind_of_trees():
    decoded = TREES.decode_list(encoded({"items": [config_map("a", 5)], "metadata": {}}))
    assert (decoded[0]["apiVersion"], decoded[0]["kind"]) == ("v1", "ConfigMap")


def test_decode_list_fills_zero_values():
    roles = decoding_of(typed(ClusterRole))
    subject = {"metadata": {"name": "a"}, "rules": [{"verbs": None}], "aggregationRule": None}
    decoded = roles.decode_list(encoded({"items": [subject], "metadata": {"resourceVersion": "1"}}))
    assert (decoded[0].rules[0].verbs, decoded.resource_version) == ([], "1")
    assert roles.decode_event(event("ADDED", subject)).object.rules[0].verbs == []


@pytest.mark.parametrize("kind", ["ADDED", "MODIFIED", "DELETED"])
def test_decode_event_returns_the_object(kind):
    decoded = TYPED.decode_event(event(kind, config_map("a", 5)))
    assert (decoded.type, decoded.object.metadata.name) == (kind, "a")


def test_decode_event_accepts_the_type_last():
    decoded = TYPED.decode_event(encoded({"object": config_map("a", 5), "type": "ADDED"}))
    assert (decoded.type, decoded.object.metadata.name) == ("ADDED", "a")


def test_decode_event_of_a_bookmark():
    result = TYPED.decode_event(bookmark("7")).object
    assert (result.metadata.resourceVersion, result.ends_initial_events) == ("7", False)
    assert TYPED.decode_event(bookmark("7", ends_initial=True)).object.ends_initial_events


def test_decode_event_of_an_error_is_a_tree():
    assert TYPED.decode_event(event("ERROR", {"code": 410})).object == {"code": 410}


@pytest.mark.parametrize("raw", [b"", b"nonsense", b"[]", b'{"items":5}', b"\xff"])
def test_decode_list_rejects_other_bodies(raw):
    with pytest.raises(UnexpectedResponse):
        TYPED.decode_list(raw)


@pytest.mark.parametrize("raw", [b"nonsense", b'{"metadata":{"name":5}}', b'"\xff"'])
def test_decode_object_rejects_other_bodies(raw):
    with pytest.raises(UnexpectedResponse):
        TYPED.decode_object(raw)


@pytest.mark.parametrize("raw", [b"nonsense" * 20, b'{"type":"ADDED","object":5}', b'{"type":"BOOKMARK","object":5}'])
def test_decode_event_rejects_other_lines(raw):
    with pytest.raises(UnexpectedResponse):
        TYPED.decode_event(raw)
