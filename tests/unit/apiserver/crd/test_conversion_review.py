"""ConversionReview: verification of converted objects."""

import pytest

from steersman.apiserver.crd.conversion_review import (
    InvalidObjectError,
    InvalidPart,
    MalformedResponseError,
    read_response,
    verified,
)

SOURCE = {
    "apiVersion": "example.com/v1",
    "kind": "Screen",
    "metadata": {"name": "a", "uid": "1", "labels": {"a": "b"}, "finalizers": ["x/y"]},
}


def converted(**metadata):
    return {**SOURCE, "apiVersion": "example.com/v2", "metadata": {"name": "a", "uid": "1", **metadata}, "spec": {}}


def test_verified_keeps_metadata_but_for_labels_and_annotations():
    tree = verified(SOURCE, converted(annotations={"c": "d"}, generation=7), api_version="example.com/v2")
    assert tree["metadata"] == {"name": "a", "uid": "1", "finalizers": ["x/y"], "annotations": {"c": "d"}}


@pytest.mark.parametrize(
    ("tree", "text", "part"),
    [
        ("text", "Object 'Kind' is missing in", InvalidPart.CONTENT),
        ({"apiVersion": "example.com/v2"}, "Object 'Kind' is missing in", InvalidPart.CONTENT),
        ({**converted(), "metadata": {"name": "a"}}, "must have the same UID: 1 != ", InvalidPart.IDENTITY),
        ({**converted(), "kind": "Other"}, "invalid kind", InvalidPart.TYPE),
        (converted(labels={"no spaces": "b"}), 'metadata.labels: Invalid value: "no spaces": ', InvalidPart.METADATA),
        (converted(annotations={"-": "b"}), 'metadata.annotation: Invalid value: "-": ', InvalidPart.METADATA),
        (
            converted(annotations={"a": None}),
            r"metadata.annotations\[a\] must be a string, but is <nil>",
            InvalidPart.METADATA,
        ),
    ],
)
def test_verified_rejects_other_metadata_changes(tree, text, part):
    with pytest.raises(InvalidObjectError, match=text) as caught:
        verified(SOURCE, tree, api_version="example.com/v2")
    assert caught.value.part is part


def test_unchanged_labels_are_not_validated_again():
    source = {**SOURCE, "metadata": {"name": "a", "uid": "1", "labels": {"no spaces": "b"}}}
    tree = verified(source, converted(labels={"no spaces": "b"}), api_version="example.com/v2")
    assert tree["metadata"]["labels"] == {"no spaces": "b"}


def test_read_response_does_not_verify_v1beta1():
    body = b'{"response":{"uid":"other","result":{"status":"Success"},"convertedObjects":[1]}}'
    assert read_response(body, version="v1beta1", uid="1") == [1]
    with pytest.raises(MalformedResponseError, match="expected webhook response of"):
        read_response(body, version="v1", uid="1")
