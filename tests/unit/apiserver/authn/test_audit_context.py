"""Audit annotations and warnings of authenticators."""

from steersman.apiserver.authn.audit_context import annotate, set_current_request, warn
from steersman.apiserver.http import Request
from steersman.apiserver.request import Annotations


def request() -> Request:
    return Request({"method": "GET", "path": "/", "query_string": b"", "headers": []}, receive=None)


async def test_annotate_and_warn_apply_to_current_request():
    of = request()
    of.annotations = Annotations()
    set_current_request(of)
    annotate("a", "b")
    warn("old")
    assert (of.annotations.values, of.warnings.texts) == ({"a": "b"}, ["old"])


async def test_annotate_does_nothing_without_request():
    annotate("a", "b")
    warn("old")


async def test_warn_applies_to_request_without_audit():
    of = request()
    set_current_request(of)
    annotate("a", "b")
    warn("old")
    assert (of.annotations, of.warnings.texts) == (None, ["old"])
