from __future__ import annotations

import pytest

from steersman.apimachinery.codec import DecodeError
from steersman.schema.loader import struct_for
from steersman.schema.unstructured import from_unstructured

SERVICE = struct_for("", "v1", "Service")


def _port(**fields):
    return {"spec": {"ports": [fields]}}


@pytest.mark.parametrize(
    ("sent", "stored"),
    [(80, 80), (80.0, 80), (2**32 + 80, 80), (2**31, -(2**31)), (2.0**70, 0), (None, None)],
)
def test_integers_wrap_and_whole_floats_are_integers(sent, stored):
    assert from_unstructured(SERVICE, _port(port=sent)) == _port(port=stored)


def test_unknown_fields_are_kept():
    tree = {"spec": {"typo": [1.5]}, "other": {}}
    assert from_unstructured(SERVICE, tree) == tree


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        (_port(port=1.5), "cannot convert float64 to int32"),
        (_port(port="80"), "unrecognized type: int32"),
        (_port(port=True), "unrecognized type: int32"),
        (_port(name=5), "cannot convert int64 to string"),
        (_port(name=2**63), "unrecognized type: string"),
        (_port(targetPort=True), "json: cannot unmarshal bool into Go value of type int32"),
        (_port(targetPort=2**31), "json: cannot unmarshal number 2147483648 into Go value of type int32"),
        ({"spec": {"ports": {}}}, "cannot restore slice from map"),
        ({"spec": {"selector": []}}, "cannot restore map from slice"),
        ({"spec": 1.5}, "cannot restore struct from: float64"),
        ({"metadata": {"creationTimestamp": 1}}, "json: cannot unmarshal number into Go value of type string"),
    ],
)
def test_values_of_another_type_are_rejected(tree, text):
    with pytest.raises(DecodeError) as caught:
        from_unstructured(SERVICE, tree)
    assert str(caught.value) == text


def test_malformed_values_are_rejected_by_their_parsers():
    secret = struct_for("", "v1", "Secret")
    with pytest.raises(DecodeError, match=r"^error decoding from json: illegal base64 data at input byte 0$"):
        from_unstructured(secret, {"data": {"k": "?"}})
    with pytest.raises(DecodeError, match=r"^cannot restore slice from int64$"):
        from_unstructured(secret, {"data": {"k": 1}})
    with pytest.raises(DecodeError, match=r"^parsing time "):
        from_unstructured(secret, {"metadata": {"creationTimestamp": "yesterday"}})
