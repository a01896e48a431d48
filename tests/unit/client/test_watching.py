"""Lines of a stream as events."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lightkube.models.core_v1 import ConfigMap
from tests.unit.client.scripted import ScriptedTransport, Stream, bookmark, config_map, event, refusal

from steersman.asynckit.clock import FakeClock
from steersman.client.client import Client
from steersman.client.errors import ClientError, Expired, Forbidden, InternalError, RequestFailed, UnreadableAnswer
from steersman.client.transport import TransportError
from steersman.client.watching import split_lines

LINES = [event("ADDED", config_map("a", 1)), event("DELETED", config_map("a", 2)), bookmark("3")]


async def heard(*script):
    """Events, and what ended them."""
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
async def test_pieces_may_be_cut_anywhere(data):
    whole = b"".join(LINES)
    cuts = sorted(data.draw(st.sets(st.integers(1, len(whole) - 1))))
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    assert await lines_of(Stream(*pieces, ends=True)) == [line.strip() for line in LINES]


async def test_a_line_without_an_end_is_no_line():
    assert await lines_of(Stream(b"a\n\r\n\nb", ends=True)) == [b"a"]


async def test_a_line_that_does_not_end_is_refused(monkeypatch):
    monkeypatch.setattr("steersman.client.watching._LINE_BYTES_MAX", 10)
    with pytest.raises(UnreadableAnswer, match="longer than 10 bytes"):
        await lines_of(Stream(b"a" * 11))


async def test_a_watch_ends_with_its_stream():
    assert await heard(Stream(b"".join(LINES), ends=True)) == (
        [("ADDED", "1"), ("DELETED", "2"), ("BOOKMARK", "3")],
        None,
    )


async def test_an_error_event_ends_it_after_what_came_before():
    status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
    stream = Stream(LINES[0] + event("ERROR", status) + LINES[1])
    assert await heard(stream) == ([("ADDED", "1")], Expired)
    assert await heard(Stream(event("ERROR", {"code": 500}))) == ([], InternalError)


async def test_a_broken_connection_is_told_as_such():
    assert await heard(Stream(LINES[0], TransportError("reset"))) == ([("ADDED", "1")], RequestFailed)


async def test_a_refused_watch_is_the_servers_error():
    assert await heard(refusal(403, "Forbidden")) == ([], Forbidden)
    assert await heard(Stream(TransportError("reset"), status=403)) == ([], RequestFailed)


async def test_what_is_no_event_is_told_as_such():
    assert await heard(Stream(b"nonsense\n")) == ([], UnreadableAnswer)
