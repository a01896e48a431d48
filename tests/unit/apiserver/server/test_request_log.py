"""Log of requests."""

import asyncio
import logging

import pytest
from tests.unit.apiserver.server.test_app import Endless, answers, application

from steersman.apiserver.http import Request, Response
from steersman.apiserver.request import RequestInfo, UserInfo
from steersman.apiserver.server.loopback import Loopback
from steersman.apiserver.server.request_log import RequestLog, normalized_verb, request_uri
from steersman.asynckit.clock import FakeClock
from steersman.asynckit.structured_logging import V3, fields_of


@pytest.fixture
def lines(caplog):
    """Return the key-value pairs of the lines so far."""
    caplog.set_level(V3)
    return lambda: [fields_of(record) for record in caplog.records if record.getMessage() == "HTTP"]


def request(method="GET", path="/api/v1/pods", query=b"", *, headers=(), info=None, **scope) -> Request:
    new_request = Request({"method": method, "path": path, "query_string": query, "headers": [*headers], **scope}, None)
    if info is not None:
        new_request.info = info
    return new_request


async def test_request_line_has_httplogs_keys_in_order(lines):
    clock = FakeClock()

    async def handler(request):
        request.user = UserInfo("alice")
        await clock.sleep(0.25)
        return Response(201)

    app = application(handler, clock=clock, request_log=RequestLog(clock))
    call = asyncio.ensure_future(Loopback(app).request("POST", "/api/v1/pods?a=b", headers={"user-agent": "kubectl"}))
    await clock.advance(0.25)
    answer = await call
    (line,) = lines()
    assert list(line.items()) == [
        ("verb", "POST"),
        ("URI", "/api/v1/pods?a=b"),
        ("latency", "250ms"),
        ("userAgent", "kubectl"),
        ("audit-ID", answer.header("audit-id")),
        ("srcIP", ""),
        ("user", "alice"),
        ("resp", 201),
    ]


async def test_request_that_timed_out_is_logged_as_504(lines):
    clock = FakeClock()

    async def handler(request):
        await clock.sleep(100)

    app = application(handler, clock=clock, timeout_seconds=5, request_log=RequestLog(clock))
    call = asyncio.ensure_future(Loopback(app).request("GET", "/api/v1/pods"))
    await clock.advance(10)
    assert (await call).code == 504
    assert [line["resp"] for line in lines()] == [504]


async def test_watch_is_logged_when_it_ends(lines):
    clock = FakeClock()
    app = application(Endless(), clock=clock, request_log=RequestLog(clock))
    async with Loopback(app).open("GET", "/api/v1/pods?watch=true") as exchange:
        async for _ in exchange:
            break
        assert lines() == []
    assert [(line["verb"], line["resp"]) for line in lines()] == [("WATCH", 200)]


async def test_requests_are_not_logged_without_a_log(lines):
    await Loopback(application(answers(Response(200)))).request("GET", "/x")
    assert lines() == []


@pytest.mark.parametrize(("level", "is_enabled"), [(V3, True), (V3 + 1, False)])
def test_log_exists_only_at_its_verbosity(caplog, level, is_enabled):
    caplog.set_level(level)
    assert (RequestLog.if_enabled(FakeClock()) is not None) is is_enabled


def test_upgraded_connection_is_logged_as_hijacked(lines):
    http_request = request(
        info=RequestInfo("create", "/x", True, subresource="exec"), client=("::1", 5), raw_path=b"/x%20y"
    )
    http_request.audit_id = "id"
    RequestLog(FakeClock(), log=logging.getLogger("test")).done(http_request, 101, 0.0, hijacked=True)
    (line,) = lines()
    assert (line["verb"], line["URI"], line["srcIP"], line["hijacked"]) == ("CONNECT", "/x%20y", "[::1]:5", True)
    assert "resp" not in line
    assert "user" not in line


APPLY = [(b"content-type", b"application/apply-patch+yaml")]


@pytest.mark.parametrize(
    ("method", "verb", "headers", "logged"),
    [
        ("GET", "get", [], "GET"),
        ("GET", "list", [], "LIST"),
        ("GET", "watch", [], "WATCH"),
        ("HEAD", "get", [], "GET"),
        ("DELETE", "deletecollection", [], "DELETE"),
        ("PATCH", "patch", APPLY, "APPLY"),
        ("PATCH", "patch", [], "PATCH"),
    ],
)
def test_normalized_verb_follows_upstream(method, verb, headers, logged):
    info = RequestInfo(verb, "/api/v1/pods", True)
    assert normalized_verb(request(method, headers=headers, info=info)) == logged


def test_malformed_request_is_logged_by_method():
    assert normalized_verb(request("BREW")) == "BREW"


def test_request_uri_is_as_received():
    assert request_uri(request(query=b"limit=1", raw_path=b"/api/v1/pods/a%2Fb")) == "/api/v1/pods/a%2Fb?limit=1"
