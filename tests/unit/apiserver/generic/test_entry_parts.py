import msgspec
import pytest

from steersman.apiserver.generic.entry_parts import labels_of, labels_text, version_of


@pytest.mark.parametrize(
    ("raw", "labels"),
    [
        (b'{"metadata":{"name":"a","labels":{"app":"x"}},"spec":{"labels":{"app":"y"}}}', {"app": "x"}),
        (b'{"metadata":{"name":"a","labels":null}}', {}),
    ],
)
def test_labels_are_read_where_they_lie(raw, labels):
    assert labels_of(labels_text(raw)) == labels


def test_an_object_without_labels_has_no_text():
    assert labels_text(b'{"metadata":{"name":"a"}}') == b""


@pytest.mark.parametrize(
    ("value", "version"),
    [
        (b'{"metadata":{"resourceVersion":"7"}}', "7"),
        (b'{"metadata":{},"data":{"resourceVersion":"7"}}', ""),
        (b'{"data":{}}', ""),
    ],
)
def test_only_the_version_in_metadata_counts(value, version):
    assert version_of(value) == version


def test_what_is_no_text_is_refused():
    with pytest.raises(msgspec.DecodeError):
        version_of(b'{"metadata":{"resourceVersion":7}}')
