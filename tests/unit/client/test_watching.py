"""Decoding of watch streams."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lightkube.models.core_v1 import ConfigMap
from tests.unit.client.scripted import ScriptedTransport, Stream, bookmark, config_map, event, refusal

from steersman.asynckit.clock import FakeClock
from steersman.client.client import Client
from steersman.client.errors import ClientError, Expired, Forbidden, InternalError, RequestFailed, UnexpectedResponse
from steersman.client.transport import TransportError
from steersman.client.watching import split_lines

LINES = [event("ADDED", config_map("a", 1)), event("DELETED", config_map("a", 2)), bookmark("3")]


async def watch_script(*script):
    """Return the events, and the exception that ended the watch."""
    client = Client(ScriptedTransport(*script), clock=FakeClock())
    events = []
    try:
        async with client.watch(ConfigMap) as watch:
            async for e in watch:
                events.append((e.type, e.object.metadata.resourceVersion))  # noqa: PERF401 — kept when it fails
    except ClientError as error:
        return events, type(error)
    return events, None


async def lines_of(stream):
    return [line async for lines in split_lines(stream) for line in lines]


@given(st.data())
async def test_split_lines_accepts_arbitrary_chunks(data):
    whole = b"".join(LINES)
    cuts = sorted(data.draw(st.sets(st.integers(1, len(whole) - 1))))
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    assert await lines_of(Stream(*pieces, ends=True)) == [line.strip() for line in LINES]


async def test_split_lines_discards_an_incomplete_line():
    assert await lines_of(Stream(b"a\n\r\n\nb", ends=True)) == [b"a"]


async def test_split_lines_rejects_a_line_beyond_the_limit(monkeypatch):
    monkeypatch.setattr("steersman.client.watching._LINE_BYTES_MAX", 10)
    with pytest.raises(UnexpectedResponse, match="longer than 10 bytes"):
        await lines_of(Stream(b"a" * 11))


async def test_watch_ends_with_its_stream():
    assert await watch_script(Stream(b"".join(LINES), ends=True)) == (
        [("ADDED", "1"), ("DELETED", "2"), ("BOOKMARK", "3")],
        None,
    )


async def test_watch_raises_an_error_event_after_earlier_events():
    status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
    stream = Stream(LINES[0] + event("ERROR", status) + LINES[1])
    assert await watch_script(stream) == ([("ADDED", "1")], Expired)
    assert await watch_script(Stream(event("ERROR", {"code": 500}))) == ([], InternalError)


async def test_watch_raises_request_failed_for_a_broken_connection():
    assert await watch_script(Stream(LINES[0], TransportError("reset"))) == ([("ADDED", "1")], RequestFailed)


async def test_open_watch_raises_the_error_of_the_status():
    assert await watch_script(refusal(403, "Forbidden")) == ([], Forbidden)
    assert await watch_script(Stream(TransportError("reset"), status=403)) == ([], RequestFailed)


async def test_watch_raises_unexpected_response_for_other_lines():
    assert await watch_script(Stream(b"nonsense\n")) == ([], UnexpectedResponse)
