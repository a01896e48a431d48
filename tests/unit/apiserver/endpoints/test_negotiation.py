"""Accept headers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.apiserver.reading import METADATA, METADATA_LIST, TABLE, request

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.endpoints.negotiation import (
    PLAIN,
    Form,
    Media,
    Shape,
    accepts_gzip,
    negotiate,
    negotiate_status,
)

PROTOBUF = "application/vnd.kubernetes.protobuf"
KUBECTL = f"{TABLE},application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"


def ask(
    accept: str = "",
    *,
    query: dict[str, str] | None = None,
    agent: str = "",
    offers_cbor: bool = False,
    **options: bool,
) -> Form:
    headers = {"user-agent": agent} if agent else {}
    http_request = request(query or {}, accept=accept, headers=headers)
    http_request.offers_cbor = offers_cbor
    return negotiate(http_request, **options)


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", PLAIN),
        ("*/*", PLAIN),
        ("application/json", PLAIN),
        (" application/json ; charset=utf-8 , text/html", PLAIN),
        ("application/yaml", Form(Media.YAML)),
        ("text/html, application/yaml", Form(Media.YAML)),
        (TABLE, Form(shape=Shape.TABLE)),
        (KUBECTL, Form(shape=Shape.TABLE)),
        ("application/json;as=Table;v=v1beta1;g=meta.k8s.io", Form(Media.JSON, Shape.TABLE, "meta.k8s.io/v1beta1")),
        ("application/yaml;as=Table;v=v1;g=meta.k8s.io", Form(Media.YAML, Shape.TABLE)),
        (METADATA, Form(shape=Shape.METADATA)),
        (METADATA_LIST, Form(shape=Shape.METADATA_LIST)),
        ("application/json;as=Chart;v=v1;g=meta.k8s.io,application/json", PLAIN),
        (f"{PROTOBUF},application/json", Form(Media.PROTOBUF)),
        (PROTOBUF, Form(Media.PROTOBUF)),
        (f"{PROTOBUF};q=0.5,application/json", PLAIN),
        (f"{PROTOBUF};as=PartialObjectMetadata;v=v1;g=meta.k8s.io", Form(Media.PROTOBUF, Shape.METADATA)),
        ("application/json;q=0.5,application/yaml", Form(Media.YAML)),
        ("*/*,application/yaml", Form(Media.YAML)),
        ("application/json;pretty=1", Form(pretty=True)),
    ],
)
def test_negotiate_returns_the_first_acceptable_alternative(accept, expected):
    form = ask(accept)
    assert form == expected
    assert (form is PLAIN) == (expected is PLAIN)


@pytest.mark.parametrize(
    "accept",
    [
        "application/json;as=Chart;v=v1;g=meta.k8s.io",
        "application/json;as=Table;v=v2;g=meta.k8s.io",
        "application/json;as=Table",
        "application/json;v=v1",
        f"{PROTOBUF};as=Table;v=v1;g=meta.k8s.io",
        "application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io",
    ],
)
def test_negotiate_rejects_unknown_forms(accept):
    with pytest.raises(StatusError) as refused:
        ask(accept)
    assert refused.value.code == 406
    assert refused.value.message.startswith("only the following media types are accepted: application/json, ")


@pytest.mark.parametrize("accept", ["text/html", "application/*", "Application/JSON", "text/html;q=0.9,image/png"])
def test_negotiate_rejects_unknown_media_types(accept):
    with pytest.raises(StatusError) as refused:
        ask(accept)
    assert refused.value.message.startswith("406: Not Acceptable\n\nAvailable representations: application/json, ")


def test_negotiate_accepts_media_ranges_of_custom_resources():
    assert ask("application/*", is_custom=True) == PLAIN
    with pytest.raises(StatusError) as refused:
        ask("text/html", is_custom=True)
    assert refused.value.message == "only the following media types are accepted: application/json, application/yaml"


@pytest.mark.parametrize("accept", ["application/yaml", "application/yaml,application/json"])
def test_negotiate_rejects_yaml_streams(accept):
    with pytest.raises(StatusError) as refused:
        ask(accept, stream=True)
    assert refused.value.message == (
        "only the following media types are accepted:"
        " application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
    )


def test_negotiate_rejects_protobuf_of_custom_objects():
    for stream in (False, True):
        with pytest.raises(StatusError) as refused:
            ask(PROTOBUF, stream=stream, is_custom=True)
        assert refused.value.code == 406
        assert ask(f"{PROTOBUF},application/json", stream=stream, is_custom=True) == PLAIN
        metadata = ask(f"{PROTOBUF};as=PartialObjectMetadata;v=v1;g=meta.k8s.io", stream=stream, is_custom=True)
        assert metadata == Form(Media.PROTOBUF, Shape.METADATA)


@pytest.mark.parametrize("accept", ["", "application/json;stream=watch"])
def test_negotiate_accepts_json_streams(accept):
    assert ask(accept, stream=True) == PLAIN


@pytest.mark.parametrize("accept", [PROTOBUF, f"{PROTOBUF};stream=watch,application/json"])
def test_negotiate_accepts_protobuf_streams(accept):
    assert ask(accept, stream=True) == Form(Media.PROTOBUF)


@pytest.mark.parametrize(
    ("query", "agent", "expected"),
    [
        ({}, "", False),
        ({}, "kubectl/v1.36", False),
        ({}, "curl/8.5", True),
        ({}, "Mozilla/5.0 (X11)", True),
        ({"pretty": "true"}, "", True),
        ({"pretty": "1"}, "", True),
        ({"pretty": "false"}, "curl/8.5", False),
        ({"pretty": "no"}, "", False),
    ],
)
def test_pretty_is_the_default_for_browsers_and_curl(query, agent, expected):
    assert ask(query=query, agent=agent).pretty is expected


def test_negotiate_status_falls_back_to_json():
    assert negotiate_status(request({}, accept="text/html")) == Form(pretty=True)
    assert negotiate_status(request({}, accept=TABLE)) == Form(pretty=True)
    assert negotiate_status(request({}, accept=KUBECTL)) == PLAIN
    assert negotiate_status(request({}, accept="application/yaml")) == Form(Media.YAML)
    assert negotiate_status(request({}, accept=PROTOBUF)) == Form(Media.PROTOBUF)


@pytest.mark.parametrize(
    ("header", "expected"),
    [("gzip", True), ("deflate, gzip", True), ("gzip;q=1", False), ("identity", False), ("", False)],
)
def test_accepts_gzip(header, expected):
    assert accepts_gzip(request({}, headers={"accept-encoding": header})) is expected


@given(accept=st.text(st.sampled_from('abc/*;,=q.01"as vg\t'), max_size=40), stream=st.booleans(), custom=st.booleans())
def test_no_accept_header_causes_a_server_error(accept, stream, custom):
    try:
        form = ask(accept, stream=stream, is_custom=custom)
    except StatusError as error:
        assert error.code == 406  # noqa: PT017 — some texts are fine
    else:
        assert isinstance(form, Form)


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("application/cbor", Form(Media.CBOR)),
        ("application/cbor,application/json", Form(Media.CBOR)),
        ("application/json,application/cbor", PLAIN),
        ("*/*", PLAIN),
        ("application/cbor;stream=watch", Form(Media.CBOR)),
        ("application/cbor;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", Form(Media.CBOR, Shape.METADATA)),
        (f"application/cbor;as=Table;g=meta.k8s.io;v=v1,{TABLE}", Form(shape=Shape.TABLE)),
    ],
)
@pytest.mark.parametrize("is_custom", [False, True])
def test_cbor_is_negotiated_where_it_is_offered(accept, expected, is_custom):
    assert ask(accept, offers_cbor=True, is_custom=is_custom) == expected
    assert ask(f"{accept},application/yaml", is_custom=is_custom).media is not Media.CBOR


@pytest.mark.parametrize(
    ("accept", "is_custom", "stream", "listed"),
    [
        ("text/html", False, False, "application/vnd.kubernetes.protobuf, application/cbor"),
        ("application/json;as=x", False, False, "application/vnd.kubernetes.protobuf, application/cbor"),
        ("text/html", True, False, "accepted: application/json, application/yaml, application/cbor"),
        ("application/yaml", False, True, "application/vnd.kubernetes.protobuf;stream=watch, application/cbor-seq"),
        ("application/yaml", True, True, "accepted: application/json;stream=watch, application/cbor-seq"),
    ],
)
def test_refusals_list_cbor_where_it_is_offered(accept, is_custom, stream, listed):
    with pytest.raises(StatusError) as refused:
        ask(accept, offers_cbor=True, is_custom=is_custom, stream=stream)
    assert refused.value.message.endswith(listed)
    with pytest.raises(StatusError) as refused:
        ask(accept, is_custom=is_custom, stream=stream)
    assert "cbor" not in refused.value.message


def test_errors_are_in_cbor_where_it_is_offered():
    http_request = request({}, accept="application/cbor")
    assert negotiate_status(http_request).media is Media.JSON
    http_request.offers_cbor = True
    assert negotiate_status(http_request).media is Media.CBOR
