from __future__ import annotations

import pytest

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.endpoints.media import CBOR, JSON, PROTOBUF, YAML, body_media_type
from steersman.apiserver.http import Request


def _request(content_type: str | None) -> Request:
    headers = [] if content_type is None else [(b"content-type", content_type.encode())]
    return Request({"method": "POST", "path": "/", "query_string": b"", "headers": headers}, None)


@pytest.mark.parametrize(
    ("content_type", "media_type"),
    [
        (None, JSON),
        ("", JSON),
        ("application/json", JSON),
        ("application/json;charset=utf-8", JSON),
        ("Application/JSON ; x=y", JSON),
        ("application/json;", JSON),
        ('application/json; a=b ;c = "d;\\"" ; ', JSON),
        ("application/yaml", YAML),
        ("application/vnd.kubernetes.protobuf", PROTOBUF),
    ],
)
def test_accepted_media_types_of_bodies(content_type, media_type):
    assert body_media_type(_request(content_type)) == media_type


@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain",
        "application/cbor",
        "application/x-www-form-urlencoded",
        "application/json; charset",
        "application/json; charset=",
        "application/json; a=b; A=c",
        'application/json; a="b',
        "application/json;; a=b",
    ],
)
def test_other_media_types_are_rejected_with_the_supported_ones(content_type):
    with pytest.raises(StatusError) as caught:
        body_media_type(_request(content_type))
    assert caught.value.code == 415
    assert caught.value.status["message"] == (
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    )


def test_custom_kinds_have_no_protobuf():
    assert body_media_type(_request("application/yaml"), is_custom=True) == YAML
    with pytest.raises(StatusError) as caught:
        body_media_type(_request(PROTOBUF), is_custom=True)
    assert caught.value.status["message"].endswith("include: application/json, application/yaml")


@pytest.mark.parametrize("is_custom", [False, True])
def test_cbor_is_accepted_where_it_is_offered(is_custom):
    request = _request("application/cbor")
    request.offers_cbor = True
    assert body_media_type(request, is_custom=is_custom) == CBOR
    request = _request("text/plain")
    request.offers_cbor = True
    with pytest.raises(StatusError) as caught:
        body_media_type(request, is_custom=is_custom)
    assert caught.value.status["message"].endswith(", application/cbor")
