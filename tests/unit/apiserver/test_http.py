"""HTTP requests and responses."""

import re
from urllib.parse import parse_qs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.http import BODY_BYTES_MAX, Request, Response, page_not_found, parse_query


def request(*messages: dict, query: bytes = b"", headers: tuple = ()) -> Request:
    waiting = iter(messages)

    async def receive() -> dict:
        return next(waiting)

    scope = {"method": "POST", "path": "/", "query_string": query, "headers": list(headers)}
    return Request(scope, receive)


def piece(body: bytes, *, more: bool = False) -> dict:
    return {"type": "http.request", "body": body, "more_body": more}


def test_header_returns_first_and_header_all_every_value():
    http_request = request(headers=((b"accept", b"a"), (b"accept", b"b")))
    assert (http_request.header(b"accept"), http_request.header_all(b"accept"), http_request.header(b"none")) == (
        "a",
        ["a", "b"],
        "",
    )


def test_query_decodes_values_and_keeps_empty_ones():
    http_request = request(query=b"labelSelector=a%3Db&watch=&watch=1")
    assert (http_request.param("labelSelector"), http_request.query["watch"], http_request.param("none")) == (
        "a=b",
        ["", "1"],
        "",
    )


@given(st.text("a=&%+é2", max_size=30))
def test_parse_query_agrees_with_the_standard_library(text):
    def outcome(parse):
        try:
            return parse()
        except ValueError:
            return None

    valid = "&".join(pair for pair in text.split("&") if not re.search("%(?![0-9a-fA-F]{2})", pair))
    expected = outcome(lambda: parse_qs(valid, keep_blank_values=True))
    assert outcome(lambda: parse_query(text.encode())) == expected


@pytest.mark.parametrize("field", [b"limit=%zz", b"%=1", b"limit=1;watch=1", b"limit=1%2"])
def test_parse_query_skips_malformed_fields(field):
    assert parse_query(b"a=b&" + field + b"&c=%3B") == {"a": ["b"], "c": [";"]}


@pytest.mark.parametrize("query", [b"a=x%ff", b"a=x\xff"])
def test_query_replaces_bytes_that_are_not_utf_8(query):
    assert request(query=query).param("a") == "x\ufffd"


def test_query_raises_400_for_too_many_fields():
    with pytest.raises(StatusError) as refused:
        request(query=b"&".join([b"a=1"] * 1001)).param("a")
    assert refused.value.code == 400


async def test_body_is_read_once_from_pieces():
    http_request = request(piece(b"ab", more=True), piece(b"c"))
    assert await http_request.body() == b"abc"
    assert await http_request.body() == b"abc"


async def test_body_raises_400_when_client_disconnects():
    with pytest.raises(StatusError) as refused:
        await request(piece(b"ab", more=True), {"type": "http.disconnect"}).body()
    assert refused.value.code == 400


@pytest.mark.parametrize(
    ("messages", "headers"),
    [
        ((), ((b"content-length", str(BODY_BYTES_MAX + 1).encode()),)),
        ((piece(b"x" * (BODY_BYTES_MAX + 1)),), ()),
        ((piece(b"x" * BODY_BYTES_MAX, more=True), piece(b"x")), ()),
    ],
)
async def test_body_raises_413_above_limit(messages, headers):
    with pytest.raises(StatusError) as refused:
        await request(*messages, headers=headers).body()
    assert refused.value.code == 413


async def test_disconnected_skips_body():
    await request(piece(b"ab"), {"type": "http.disconnect"}).disconnected()


def test_response_without_content_type_has_no_header():
    assert Response(304, content_type=b"").headers == []


def test_page_not_found_is_plain_text():
    assert (page_not_found().code, page_not_found().body) == (404, b"404 page not found\n")
