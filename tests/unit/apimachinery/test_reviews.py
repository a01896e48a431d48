"""Strict reading of reviews."""

import pytest

from steersman.apimachinery.reviews import ReviewDecodeError, read_review


def read(body):
    return read_review(body, group="example.com", version="v1", kind="Review")


def test_read_review_accepts_the_expected_or_no_type():
    assert read(b'{"a":1}') == ({"a": 1}, "", "")
    review = {"apiVersion": "example.com/v1", "kind": "Review"}
    assert read(b'{"apiVersion":"example.com/v1","kind":"Review"}') == (review, "example.com/v1", "Review")


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"<html>", "couldn't get version/kind; json parse error: "),
        (b"[]", "json: cannot unmarshal array into Go value of type struct { APIVersion string; Kind string }"),
        (b'{"kind":1}', "json: cannot unmarshal number into Go struct field Review.kind of type string"),
        (
            b'{"apiVersion":"example.com/v1beta1","kind":"Review"}',
            r"converting \(v1beta1.Review\) to \(v1.Review\): unknown conversion",
        ),
        (b'{"apiVersion":"v1","kind":"Pod"}', 'no kind "Pod" is registered for version "v1"'),
    ],
)
def test_read_review_names_what_it_cannot_read(body, text):
    with pytest.raises(ReviewDecodeError, match=text):
        read(body)
