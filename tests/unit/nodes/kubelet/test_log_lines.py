"""CRI log lines and their selection."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.nodes.kubelet.log_lines import Limit, LogLine, LogOptions, nano_time, parse_line, read_options, tail

NOW = datetime(2026, 1, 2, 3, 4, 5, 600, tzinfo=UTC)


def lines(*texts: bytes) -> list[LogLine]:
    return [LogLine(nano_time(NOW + timedelta(seconds=at)), b"stdout", True, text) for at, text in enumerate(texts)]


@given(st.binary().filter(lambda text: b"\n" not in text), st.sampled_from([b"stdout", b"stderr"]), st.booleans())
def test_line_round_trips(text, stream, is_whole):
    line = LogLine(nano_time(NOW), stream, is_whole, text)
    assert parse_line(line.encode()) == line


@pytest.mark.parametrize("raw", [b"", b"half", b"2026 stdout F no end"])
def test_malformed_line_is_ignored(raw):
    assert parse_line(raw) is None


def test_line_renders_its_timestamp_on_request():
    (line,) = lines(b"x")
    assert line.render(timestamps=True) == b"2026-01-02T03:04:05.000600000Z x\n"
    assert line._replace(is_whole=False).render(timestamps=False) == b"x"


@pytest.mark.parametrize(("count", "rendered"), [(None, 3), (0, 0), (1, 1), (2, 2), (9, 3)])
def test_tail_returns_the_last_lines(count, rendered):
    three = lines(b"a", b"b", b"c")
    assert tail(three, LogOptions(tail_lines=count)) == three[3 - rendered :]


def test_tail_counts_partial_lines_as_one():
    first, middle, last = lines(b"a", b"b", b"c")
    pieces = [first, middle._replace(is_whole=False), last]
    assert tail(pieces, LogOptions(tail_lines=1)) == pieces[1:]


def test_lines_are_selected_by_time_and_stream():
    three = lines(b"a", b"b", b"c")
    three[2] = three[2]._replace(stream=b"stderr")
    since = NOW + timedelta(seconds=1)
    assert tail(three, LogOptions(since=since)) == three[1:]
    assert tail(three, LogOptions(since=since, stream="Stderr")) == three[2:]


def test_limit_cuts_within_a_line():
    limit = Limit(5)
    assert [limit.cut(b"abc"), limit.is_reached, limit.cut(b"def"), limit.is_reached] == [b"abc", False, b"de", True]
    assert Limit(None).cut(b"abc") == b"abc"


def test_options_are_parsed_from_a_query():
    query = {"follow": "true", "tailLines": "3", "limitBytes": "7", "sinceSeconds": "60", "stream": "Stdout"}
    options = read_options(query, now=NOW)
    assert options == LogOptions(
        follow=True, tail_lines=3, limit_bytes=7, since=NOW - timedelta(seconds=60), stream="Stdout"
    )
    assert read_options({"sinceTime": "2026-01-02T03:04:05Z"}, now=NOW).since == NOW.replace(microsecond=0)


def test_since_seconds_beyond_the_calendar_select_all_lines():
    options = read_options({"sinceSeconds": str(2**63 - 1)}, now=NOW)
    assert nano_time(options.since) == b"0001-01-01T00:00:00.000000000Z"
