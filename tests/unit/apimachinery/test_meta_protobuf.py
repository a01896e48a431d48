"""Meta kinds in protobuf, byte by byte where the bytes are few."""

import pytest

from steersman.apimachinery import meta_protobuf


def test_a_status_lies_in_the_envelope():
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "reason": "NotFound",
        "code": 404,
    }
    raw = meta_protobuf.encode(status)
    assert raw.startswith(b"k8s\x00\x0a\x0c\x0a\x02v1\x12\x06Status")
    assert raw.endswith(b"\x0a\x00\x12\x07Failure\x22\x08NotFound\x30\x94\x03")


def test_metadata_keeps_names_labels_and_times():
    metadata = {"name": "a", "creationTimestamp": "1970-01-01T00:00:05Z", "labels": {"b": "c"}}
    raw = meta_protobuf.encode({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata})
    assert raw.endswith(b"\x0a\x01a\x42\x02\x08\x05\x5a\x06\x0a\x01b\x12\x01c")


def test_a_list_holds_its_items():
    item = {"metadata": {"name": "a"}}
    raw = meta_protobuf.encode(
        {
            "kind": "PartialObjectMetadataList",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": {"resourceVersion": "7"},
            "items": [item, item],
        }
    )
    assert raw.endswith(b"\x0a\x03\x12\x017" + b"\x12\x05\x0a\x03\x0a\x01a" * 2)


def test_other_kinds_are_refused():
    with pytest.raises(KeyError):
        meta_protobuf.encode({"kind": "Pod"})
