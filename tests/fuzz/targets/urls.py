"""RequestInfo of any URL: raises StatusError only; each part of a resource request is a segment of its path."""

from __future__ import annotations

from urllib.parse import unquote

from tests.fuzz.choices import Choices

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.filters.request_info import parse, refine
from steersman.apiserver.request import RequestInfo

TOKENS = (b"/api/v1/", b"/apis/apps/v1/", b"namespaces/a/", b"watch/", b"proxy/", b"%2F", b"%00", b"?watch=1", b"&fieldSelector=metadata.name%3Da",
          b"status", b"..", b"//")  # fmt: skip
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "X", "")


def run(data: bytes) -> None:
    choices = Choices(data)
    method = choices.pick(METHODS)
    path, _, query = choices.rest().partition(b"?")
    text = unquote(path.decode("latin-1"))
    try:
        info = parse(method, text)
    except StatusError as error:
        assert error.code < 500
        return
    assert info.path == text
    refined = refine(info, query) if info.is_resource and not info.name else info
    if refined.is_resource:
        _check_parts(refined, text)


def _check_parts(info: RequestInfo, path: str) -> None:
    """Check that no part of the request was invented: each is a segment of the path."""
    segments = path.split("/")
    for part in (info.group, info.version, info.namespace, info.resource, info.subresource, *info.parts):
        assert not part or part in segments, (part, path)
