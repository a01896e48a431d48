"""What is sent and got, as JSON on one line."""

import gzip
import json

import pytest

from steersman.apiserver.audit.bodies import IDENTIFIED, RequestBody, ResponseBody, without_managed_fields


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
def test_a_body_is_read_by_its_media_type(raw, media_type, expected):
    made = RequestBody(raw, media_type).json()
    assert (None if made is None else bytes(made)) == expected


@pytest.mark.parametrize("raw", [b"{", b"[]", b'{"metadata":3}', b""])
def test_what_cannot_be_read_names_nothing(raw):
    assert RequestBody(raw, "application/json").identity() == IDENTIFIED


def test_yaml_names_its_object_too():
    assert RequestBody(b"metadata: {name: a}", "application/yaml").identity().name == "a"


def test_a_patch_names_nothing():
    body = RequestBody(b'{"metadata":{"name":"b"}}', "application/merge-patch+json")
    assert (body.is_patch, body.identity()) == (True, IDENTIFIED)


def test_an_answer_is_put_together_and_unpacked():
    packed = gzip.compress(b'{"a":1}')
    made = ResponseBody([packed[:9], packed[9:]], "application/json", gzipped=True).json()
    assert made is not None
    assert json.loads(bytes(made)) == {"a": 1}
    assert ResponseBody([b"no gzip"], "application/json", gzipped=True).json() is None


def test_managed_fields_go_wherever_they_are():
    made = RequestBody(b'{"items":[{"metadata":{"managedFields":[]}},3],"metadata":null}', "application/json").json()
    assert made is not None
    assert without_managed_fields(made) == {"items": [{"metadata": {}}, 3], "metadata": None}
    listed = RequestBody(b"[1]", "application/json").json()
    assert listed is not None
    assert without_managed_fields(listed) == [1]
