"""Request and response bodies of audit events."""

import gzip
import json

import pytest

from steersman.apiserver.audit.bodies import NO_IDENTITY, RequestBody, ResponseBody, without_managed_fields


@pytest.mark.parametrize(
    ("raw", "media_type", "expected"),
    [
        (b'{\n "a": 1\n}', "application/json", b'{"a":1}'),
        (b"a: 1\nb: [x]\n", "application/yaml", b'{"a":1,"b":["x"]}'),
        (b"a: 1", "application/apply-patch+yaml", b'{"a":1}'),
        (b"{", "application/json", None),
        (b"k8s", "application/vnd.kubernetes.protobuf", None),
        (b"hello", "text/plain", None),
    ],
)
def test_body_is_decoded_by_its_media_type(raw, media_type, expected):
    created = RequestBody(raw, media_type).json()
    assert (None if created is None else bytes(created)) == expected


@pytest.mark.parametrize("raw", [b"{", b"[]", b'{"metadata":3}', b""])
def test_undecodable_body_has_no_identity(raw):
    assert RequestBody(raw, "application/json").identity() == NO_IDENTITY


def test_yaml_body_has_an_identity():
    assert RequestBody(b"metadata: {name: a}", "application/yaml").identity().name == "a"


def test_patch_has_no_identity():
    body = RequestBody(b'{"metadata":{"name":"b"}}', "application/merge-patch+json")
    assert (body.is_patch, body.identity()) == (True, NO_IDENTITY)


def test_response_chunks_are_joined_and_decompressed():
    packed = gzip.compress(b'{"a":1}')
    created = ResponseBody([packed[:9], packed[9:]], "application/json", gzipped=True).json()
    assert created is not None
    assert json.loads(bytes(created)) == {"a": 1}
    assert ResponseBody([b"no gzip"], "application/json", gzipped=True).json() is None


def test_managed_fields_are_removed_from_objects_and_lists():
    created = RequestBody(b'{"items":[{"metadata":{"managedFields":[]}},3],"metadata":null}', "application/json").json()
    assert created is not None
    assert without_managed_fields(created) == {"items": [{"metadata": {}}, 3], "metadata": None}
    listed = RequestBody(b"[1]", "application/json").json()
    assert listed is not None
    assert without_managed_fields(listed) == [1]
