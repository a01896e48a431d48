"""Envelopes of reviews."""

from __future__ import annotations

import json

import msgspec
import pytest

from steersman.webhooks.reviews import ReviewDecoder, ReviewError, encode_review


class Model(msgspec.Struct):
    uid: str


DECODER = ReviewDecoder("g", "Review", Model)


def test_review_is_decoded_with_its_version() -> None:
    body = json.dumps({"apiVersion": "g/v1beta1", "kind": "Review", "request": {"uid": "a", "new": 1}}).encode()
    assert DECODER.decode(body) == ("v1beta1", Model("a"))


@pytest.mark.parametrize(
    ("api_version", "kind"), [("g/v2", "Review"), ("h/v1", "Review"), ("v1", "Review"), ("g/v1", "X")]
)
def test_review_of_another_kind_or_version_is_rejected(api_version: str, kind: str) -> None:
    body = json.dumps({"apiVersion": api_version, "kind": kind, "request": {"uid": "a"}}).encode()
    with pytest.raises(ReviewError, match=f"expected Review of g/v1 or v1beta1, not {kind} of {api_version}"):
        DECODER.decode(body)


def test_review_is_encoded() -> None:
    encoded = json.loads(encode_review("g", "v1", "Review", response={"uid": "a"}))
    assert encoded == {"apiVersion": "g/v1", "kind": "Review", "response": {"uid": "a"}}
