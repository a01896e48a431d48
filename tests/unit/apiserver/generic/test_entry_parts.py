import msgspec
import pytest

from steersman.apiserver.generic.entry_parts import is_terminating, labels_of, labels_text, tree_in_parts, version_of


@pytest.mark.parametrize(
    ("raw", "labels"),
    [
        (b'{"metadata":{"name":"a","labels":{"app":"x"}},"spec":{"labels":{"app":"y"}}}', {"app": "x"}),
        (b'{"metadata":{"name":"a","labels":null}}', {}),
    ],
)
def test_labels_text_is_read_without_decoding(raw, labels):
    assert labels_of(labels_text(raw)) == labels


def test_labels_text_of_an_object_without_labels_is_empty():
    assert labels_text(b'{"metadata":{"name":"a"}}') == b""


@pytest.mark.parametrize(
    ("value", "version"),
    [
        (b'{"metadata":{"resourceVersion":"7"}}', "7"),
        (b'{"metadata":{},"data":{"resourceVersion":"7"}}', ""),
        (b'{"data":{}}', ""),
    ],
)
def test_resource_version_is_read_from_metadata_only(value, version):
    assert version_of(value) == version


def test_malformed_text_is_rejected():
    with pytest.raises(msgspec.DecodeError):
        version_of(b'{"metadata":{"resourceVersion":7}}')


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b'{"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"}}', True),
        (b'{"metadata":{"deletionTimestamp":null}}', False),
        (b'{"metadata":{},"data":{"deletionTimestamp":"x"}}', False),
    ],
)
def test_is_terminating_reads_metadata_alone(raw, expected):
    assert is_terminating(raw) is expected


TREE = {
    "metadata": {
        "resourceVersion": "7",
        "name": "a",
        "managedFields": [{"manager": "m", "fieldsV1": {"f:data": {"f:a": {}}}}, {"manager": "n"}],
    },
    "data": {"a": "b"},
    "items": [1, 2.0, None, True, "\u00e4"],
}


def test_tree_in_parts_equals_the_tree_decoded_at_once():
    assert tree_in_parts(msgspec.json.encode(TREE)) == TREE


def test_tree_in_parts_omits_managed_fields_on_request():
    tree = tree_in_parts(msgspec.json.encode(TREE), with_managed_fields=False)
    assert tree == {**TREE, "metadata": {"resourceVersion": "7", "name": "a"}}


def test_tree_in_parts_accepts_null_managed_fields():
    assert tree_in_parts(b'{"metadata":{"managedFields":null}}') == {"metadata": {"managedFields": []}}
