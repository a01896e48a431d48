"""Audit filter."""

import asyncio
import json
from datetime import UTC, datetime

import pytest

from steersman.apimachinery.errors import StatusError, not_found, unauthorized
from steersman.apiserver.audit.policy import read_policy
from steersman.apiserver.filters.audit import Auditor, AuditSink, audit, failed_authentication
from steersman.apiserver.filters.request_info import parse
from steersman.apiserver.http import Request, Response
from steersman.apiserver.request import UserInfo

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PODS = "/api/v1/namespaces/a/pods"


class Log:
    """Audit log that writes every line at once, or fails."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.works = True
        self.strict = False
        self.failed = self.dropped = 0

    async def record(self, line):
        self.lines.append(line)
        return self.works

    def post(self, line):
        self.lines.append(line)
        return True

    @property
    def events(self) -> list[dict]:
        return [json.loads(line) for line in self.lines]

    @property
    def stages(self) -> list[tuple[str, int | None]]:
        return [(event["stage"], event.get("responseStatus", {}).get("code")) for event in self.events]


class Recorder(Auditor):
    """Auditor with one log."""

    @property
    def log(self) -> Log:
        return self.sinks[0].log


def auditor(rules="{level: RequestResponse}", **form) -> Recorder:
    text = f"apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{rules}]"
    return Recorder(read_policy(text.encode()), [AuditSink(name="log", log=Log(), **form)], now=lambda: NOW)


def unknown(method="GET", path=PODS, *headers, body=b"") -> Request:
    async def receive():
        return {"type": "http.request", "body": body}

    new_request = Request({"method": method, "path": path, "query_string": b"", "headers": list(headers)}, receive)
    new_request.info, new_request.audit_id = parse(method, path), "id"
    return new_request


def request(method="GET", path=PODS, *headers, body=b"") -> Request:
    created = unknown(method, path, *headers, body=body)
    created.user = UserInfo("alice")
    return created


async def run(recorder: Auditor, of: Request, outcome) -> Response:
    async def handler(request):
        if request.method == "POST":
            await request.body()
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    return await audit(recorder)(handler)(of)


async def test_request_is_recorded_before_and_after():
    recorder = auditor()
    await run(recorder, request("POST", body=b'{"metadata":{"name":"b"}}'), Response(201, b'{"kind":"Pod"}'))
    assert recorder.log.stages == [("RequestReceived", None), ("ResponseComplete", 201)]
    last = recorder.log.events[1]
    assert (last["requestObject"], last["responseObject"]) == ({"metadata": {"name": "b"}}, {"kind": "Pod"})


async def test_request_omitted_by_policy_is_neither_recorded_nor_annotated():
    recorder = auditor("{level: None}")
    of = request()
    await failed_authentication(recorder)(lambda request: run(recorder, request, Response(200)))(of)
    assert (recorder.log.lines, of.annotations) == ([], None)


async def test_omitted_stage_is_not_recorded():
    recorder = auditor("{level: Metadata, omitStages: [RequestReceived]}")
    await run(recorder, request(), Response(200))
    assert recorder.log.stages == [("ResponseComplete", 200)]


async def test_error_is_recorded_with_status():
    recorder = auditor()
    with pytest.raises(StatusError):
        await run(recorder, request("GET", f"{PODS}/b"), not_found("pods", "b"))
    last = recorder.log.events[-1]
    assert last["responseStatus"]["message"] == 'pods "b" not found'
    assert last["responseObject"]["kind"] == "Status"


async def test_status_response_is_recorded():
    recorder = auditor("{level: Metadata}")
    body = b'{"kind":"Status","status":"Success","details":{"name":"b"}}'
    await run(recorder, request("DELETE", f"{PODS}/b"), Response(200, body))
    assert recorder.log.events[-1]["responseStatus"] == {
        "metadata": {},
        "status": "Success",
        "details": {"name": "b"},
        "code": 200,
    }


async def test_exception_is_recorded_as_panic():
    recorder = auditor()
    with pytest.raises(ZeroDivisionError):
        await run(recorder, request(), ZeroDivisionError())
    assert recorder.log.stages[-1] == ("Panic", 500)


async def test_timeout_is_recorded():
    recorder = auditor()
    with pytest.raises(asyncio.CancelledError):
        await run(recorder, request(), asyncio.CancelledError())
    assert recorder.log.stages[-1] == ("ResponseComplete", 504)


async def stream(*pieces):
    for piece in pieces:
        yield piece


async def test_watch_is_recorded_at_start_and_end():
    recorder = auditor()
    closed = []
    answer = Response(200, stream=stream(b"x"))
    answer.on_end = lambda: closed.append(True)
    response = await run(recorder, request("GET", "/api/v1/watch/pods"), answer)
    assert recorder.log.stages == [("RequestReceived", None), ("ResponseStarted", 200)]
    response.on_end()
    assert (recorder.log.stages[-1], closed) == (("ResponseComplete", 200), [True])
    assert "responseObject" not in recorder.log.events[-1]


async def test_streamed_list_is_recorded_at_end_with_body():
    recorder = auditor()
    response = await run(recorder, request(), Response(200, stream=stream(b'{"items":', b"[]}")))
    assert [piece async for piece in response.stream] == [b'{"items":', b"[]}"]
    assert len(recorder.log.lines) == 1
    response.on_end()
    assert recorder.log.events[-1]["responseObject"] == {"items": []}


async def test_oversized_stream_is_recorded_as_truncated():
    recorder = auditor()
    piece = b" " * (6 * 1024 * 1024)
    response = await run(recorder, request(), Response(200, stream=stream(piece, piece, piece, piece)))
    assert len([item async for item in response.stream]) == 4
    response.on_end()
    last = recorder.log.events[-1]
    assert ("responseObject" in last, last["annotations"]) == (False, {"audit.k8s.io/truncated": "true"})


async def test_strict_mode_rejects_request_when_log_fails():
    recorder = auditor()
    recorder.log.works = False
    assert (await run(recorder, request(), Response(200))).code == 200
    recorder.log.strict = True
    with pytest.raises(StatusError, match="failed to store audit event") as error:
        await run(recorder, request(), Response(200))
    assert error.value.code == 500


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        ([], "Authentication failed, no credentials provided"),
        ([(b"authorization", b"Bearer s3cret")], "Authentication failed, attempted: bearer"),
        ([(b"authorization", b"Basic s3cret")], "Authentication failed, attempted: basic"),
    ],
)
async def test_failed_authentication_is_recorded_without_credentials(headers, message):
    recorder = auditor()
    of = unknown("GET", PODS, *headers)

    async def handler(request):
        raise unauthorized("Unauthorized")

    with pytest.raises(StatusError):
        await failed_authentication(recorder)(handler)(of)
    event = recorder.log.events[0]
    assert (event["stage"], event["user"], event["responseStatus"]["message"]) == ("ResponseStarted", {}, message)
    assert b"s3cret" not in recorder.log.lines[0]


async def test_failed_authentication_lists_certificate():
    recorder = auditor()
    of = unknown()
    of.scope["extensions"] = {"tls": {"client_cert_chain": ["pem"]}}

    async def handler(request):
        raise unauthorized("Unauthorized")

    with pytest.raises(StatusError):
        await failed_authentication(recorder)(handler)(of)
    assert recorder.log.events[0]["responseStatus"]["message"].endswith("attempted: x509")


async def test_oversized_events_lose_objects_or_are_dropped():
    recorder = auditor(size_max_bytes=600)
    await run(recorder, request("POST", body=b'{"a":"%b"}' % (b"x" * 600)), Response(201))
    assert recorder.log.events[-1]["annotations"] == {"audit.k8s.io/truncated": "true"}
    tiny = auditor(size_max_bytes=10)
    await run(tiny, request(), Response(200))
    assert tiny.log.lines == []


async def test_legacy_format_is_text():
    recorder = auditor(legacy=True)
    await run(recorder, request(), Response(200))
    assert b" AUDIT: id=" in recorder.log.lines[0]


async def test_events_are_counted():
    recorder = auditor("{level: Metadata, verbs: [list]}")
    await run(recorder, request(), Response(200))
    await run(recorder, request("POST"), Response(200))
    families = {family.name: family.samples for family in await recorder.collect()}
    assert families["apiserver_audit_event_total"] == [("", (), 2)]
    levels = {labels[0][1]: value for _, labels, value in families["apiserver_audit_level_total"]}
    assert levels == {"None": 1, "Metadata": 1, "Request": 0, "RequestResponse": 0}
