"""What authenticators say of a request that they do not see."""

from steersman.apiserver.authn.notes import annotate, set_current_request, warn
from steersman.apiserver.http import Request
from steersman.apiserver.request import Annotations


def request() -> Request:
    return Request({"method": "GET", "path": "/", "query_string": b"", "headers": []}, receive=None)


async def test_notes_are_about_the_request_that_is_served():
    of = request()
    of.annotations = Annotations()
    set_current_request(of)
    annotate("a", "b")
    warn("old")
    assert (of.annotations.values, of.warnings.texts) == ({"a": "b"}, ["old"])


async def test_without_a_request_nothing_is_noted():
    annotate("a", "b")
    warn("old")


async def test_a_request_that_nobody_records_is_still_warned_of():
    of = request()
    set_current_request(of)
    annotate("a", "b")
    warn("old")
    assert (of.annotations, of.warnings.texts) == (None, ["old"])
