"""``/debug/flags``."""

import pytest

from steersman.runtime import debug_flags


@pytest.fixture
def verbosities(monkeypatch):
    """Verbosities that were set."""
    values = []
    monkeypatch.setattr(debug_flags, "set_verbosity", values.append)
    return values


def test_put_sets_the_verbosity(verbosities):
    page = debug_flags.verbosity_page("PUT", b"3")
    assert page == (200, b"successfully set klog.logging.verbosity to 3\n", "text/plain")
    assert verbosities == [3]


@pytest.mark.parametrize(
    ("method", "body", "status", "text"),
    [
        ("GET", b"", 406, b"unsupported http method\n"),
        ("POST", b"3", 406, b"unsupported http method\n"),
        ("PUT", b"", 400, b'strconv.ParseUint: parsing "": invalid syntax\n'),
        ("PUT", b"-1", 400, b'strconv.ParseUint: parsing "-1": invalid syntax\n'),
        ("PUT", b"4294967296", 400, b'strconv.ParseUint: parsing "4294967296": value out of range\n'),
    ],
)
def test_other_requests_set_nothing(verbosities, method, body, status, text):
    assert debug_flags.verbosity_page(method, body)[:2] == (status, text)
    assert verbosities == []


def test_index_lists_the_flag():
    assert b"<tr>v<br>" in debug_flags.index_page().body
