"""Feature gates that are switched off."""

import pytest

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.filters.disabled_features import with_disabled_features
from steersman.apiserver.http import Request, Response
from steersman.apiserver.request import RequestInfo


async def encodings(request: Request) -> Response:
    return Response(200, request.header(b"accept-encoding").encode())


def request(query: bytes = b"", verb: str = "watch") -> Request:
    scope = {"method": "GET", "path": "/", "query_string": query, "headers": [(b"accept-encoding", b"gzip")]}
    new_request = Request(scope, receive=lambda: None)
    new_request.info = RequestInfo(verb, "/api/v1/pods", True, "", "v1", "", "pods")
    return new_request


@pytest.mark.parametrize("gates", [{}, {"WatchList": True, "APIResponseCompression": True}, {"AllAlpha": True}])
def test_handler_is_unchanged_by_default(gates):
    assert with_disabled_features(encodings, gates) is encodings


async def test_responses_are_not_compressed_without_the_gate():
    handler = with_disabled_features(encodings, {"APIResponseCompression": False})
    assert (await handler(request())).body == b""


STREAMING = b"watch=1&sendInitialEvents=true"


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        (STREAMING + b"&resourceVersionMatch=NotOlderThan", ["sendInitialEvents"]),
        (STREAMING, ["resourceVersionMatch", "sendInitialEvents"]),
        (b"watch=1&sendInitialEvents=false", ["resourceVersionMatch", "sendInitialEvents"]),
    ],
)
async def test_streaming_lists_are_rejected_without_the_gate(query, fields):
    handler = with_disabled_features(encodings, {"WatchList": False})
    with pytest.raises(StatusError) as rejected:
        await handler(request(query))
    assert rejected.value.code == 422
    causes = rejected.value.status["details"]["causes"]
    assert [cause["field"] for cause in causes] == fields
    assert causes[-1]["message"].endswith(
        "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
    )


@pytest.mark.parametrize(("query", "verb"), [(b"watch=1", "watch"), (b"sendInitialEvents=1", "list")])
async def test_other_requests_are_served_without_the_gate(query, verb):
    handler = with_disabled_features(encodings, {"WatchList": False})
    assert (await handler(request(query, verb))).code == 200
