"""The server's own view of an exchange."""

import pytest

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.http import BODY_BYTES_MAX, Request, Response, page_not_found


def request(*messages: dict, query: bytes = b"", headers: tuple = ()) -> Request:
    waiting = iter(messages)

    async def receive() -> dict:
        return next(waiting)

    scope = {"method": "POST", "path": "/", "query_string": query, "headers": list(headers)}
    return Request(scope, receive)


def piece(body: bytes, *, more: bool = False) -> dict:
    return {"type": "http.request", "body": body, "more_body": more}


def test_of_repeated_headers_the_first_counts_and_all_are_there():
    made = request(headers=((b"accept", b"a"), (b"accept", b"b")))
    assert (made.header(b"accept"), made.header_all(b"accept"), made.header(b"none")) == ("a", ["a", "b"], "")


def test_query_values_are_decoded_and_empty_ones_kept():
    made = request(query=b"labelSelector=a%3Db&watch=&watch=1")
    assert (made.param("labelSelector"), made.query["watch"], made.param("none")) == ("a=b", ["", "1"], "")


@pytest.mark.parametrize("query", [b"a=%ff", b"\xff", b"&".join([b"a=1"] * 1001)])
def test_a_query_that_cannot_be_read_is_400(query):
    with pytest.raises(StatusError) as refused:
        request(query=query).param("a")
    assert refused.value.code == 400


async def test_a_body_comes_in_pieces_and_is_read_once():
    made = request(piece(b"ab", more=True), piece(b"c"))
    assert await made.body() == b"abc"
    assert await made.body() == b"abc"


async def test_a_client_that_goes_away_in_the_middle_is_400():
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
async def test_a_body_beyond_the_limit_is_413(messages, headers):
    with pytest.raises(StatusError) as refused:
        await request(*messages, headers=headers).body()
    assert refused.value.code == 413


async def test_waiting_for_the_end_of_a_client_passes_over_its_body():
    await request(piece(b"ab"), {"type": "http.disconnect"}).disconnected()


def test_an_answer_without_a_content_type_says_none():
    assert Response(304, content_type=b"").headers == []


def test_paths_that_are_no_part_of_the_api_are_told_in_plain_text():
    assert (page_not_found().code, page_not_found().body) == (404, b"404 page not found\n")
