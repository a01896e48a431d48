"""Bounded input, and sizes of terminals."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.nodes.kubelet.client_input import Inbox, LatestSize, SizeReader, read_size
from steersman.nodes.kubelet.host import Size


async def test_inbox_joins_chunks_up_to_the_end():
    inbox = Inbox()
    await inbox.put(b"a")
    await inbox.put(b"b")
    await inbox.end()
    await inbox.put(b"c")
    assert [await inbox.read() for _ in range(3)] == [b"ab", b"", b""]


async def test_full_inbox_blocks_the_sender_until_it_is_read():
    inbox = Inbox()
    await inbox.put(b"x" * 65536)
    putting = asyncio.create_task(inbox.put(b"y"))
    await asyncio.wait([putting], timeout=0)
    assert not putting.done()
    assert len(await inbox.read()) == 65536
    await putting
    assert await inbox.read() == b"y"


async def test_discarded_inbox_releases_the_sender():
    inbox = Inbox()
    await inbox.put(b"x" * 65536)
    putting = asyncio.create_task(inbox.put(b"y"))
    await asyncio.wait([putting], timeout=0)
    await inbox.end(discard=True)
    await putting
    assert await inbox.read() == b""


async def test_latest_size_replaces_unread_ones():
    sizes = LatestSize()
    sizes.put(Size(1, 1))
    sizes.put(Size(2, 2))
    assert await sizes.get() == Size(2, 2)


@pytest.mark.parametrize("document", [b"", b"{}", b"[]", b'{"Width":"x","Height":1}'])
def test_malformed_size_is_none(document):
    assert read_size(document) is None


@given(st.lists(st.tuples(st.integers(0, 65535), st.integers(0, 65535)), max_size=5), st.lists(st.integers(1, 9)))
def test_size_reader_accepts_bytes_in_any_chunks(pairs, cuts):
    text = b"\n".join(b'{"Width":%d,"Height":%d}' % pair for pair in pairs)
    reader, result = SizeReader(), []
    for cut in cuts:
        result += reader.feed(text[:cut])
        text = text[cut:]
    result += reader.feed(text)
    assert result == [Size(*pair) for pair in pairs]


def test_size_reader_drops_overlong_documents():
    reader = SizeReader()
    assert list(reader.feed(b"x" * 100_000)) == []
    assert len(reader._unread) <= 1024
    assert list(reader.feed(b'}{"Width":1,"Height":2}')) == [Size(1, 2)]
