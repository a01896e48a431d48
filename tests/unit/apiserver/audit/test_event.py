"""Audit events of requests."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from steersman.apiserver.audit.bodies import RequestBody, ResponseBody
from steersman.apiserver.audit.event import AuditEvent, is_status, json_line, legacy_line, source_ips, truncated
from steersman.apiserver.audit.policy import Outcome
from steersman.apiserver.filters.request_info import parse
from steersman.apiserver.http import Request
from steersman.apiserver.request import AuditLevel, UserInfo

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ALICE = UserInfo("alice", ("dev",), "u1", {"scopes": ("a", "b")})
POD = b'{"metadata":{"name":"b","uid":"7","resourceVersion":"5","managedFields":[{}]},\n"spec":{}}'


def request(method="GET", path="/api/v1/namespaces/a/pods", *headers, query=b"", client=("192.0.2.7", 1)) -> Request:
    scope = {"method": method, "path": path, "query_string": query, "headers": list(headers), "client": client}
    new_request = Request(scope, receive=None)
    new_request.info, new_request.user, new_request.audit_id = parse(method, path), ALICE, "id-1"
    return new_request


def event(of: Request, level=AuditLevel.METADATA, *, omit_managed_fields=False) -> AuditEvent:
    return AuditEvent(of, ALICE, Outcome(level, frozenset(), omit_managed_fields), received=NOW)


def tree_of(obj: AuditEvent, stage="ResponseComplete") -> dict:
    return json.loads(json_line(obj.tree(stage, now=NOW + timedelta(milliseconds=5))))


def test_event_has_upstreams_fields_in_order():
    of = request("GET", "/api/v1/namespaces/a/pods/b/log", (b"user-agent", b"kubectl"), query=b"follow=1")
    new_event = event(of)
    new_event.notes.add("authorization.k8s.io/decision", "allow")
    new_event.answered(200)
    assert list(tree_of(new_event).items()) == [
        ("kind", "Event"),
        ("apiVersion", "audit.k8s.io/v1"),
        ("level", "Metadata"),
        ("auditID", "id-1"),
        ("stage", "ResponseComplete"),
        ("requestURI", "/api/v1/namespaces/a/pods/b/log?follow=1"),
        ("verb", "get"),
        ("user", {"username": "alice", "uid": "u1", "groups": ["dev"], "extra": {"scopes": ["a", "b"]}}),
        ("sourceIPs", ["192.0.2.7"]),
        ("userAgent", "kubectl"),
        ("objectRef", {"resource": "pods", "namespace": "a", "name": "b", "apiVersion": "v1", "subresource": "log"}),
        ("responseStatus", {"metadata": {}, "code": 200}),
        ("requestReceivedTimestamp", "2026-01-01T00:00:00.000000Z"),
        ("stageTimestamp", "2026-01-01T00:00:00.005000Z"),
        ("annotations", {"authorization.k8s.io/decision": "allow"}),
    ]


def test_request_received_has_no_status_and_no_body():
    new_event = event(request("POST"), AuditLevel.REQUEST_RESPONSE)
    new_event.request_body = RequestBody(POD, "application/json")
    new_event.answered(201)
    assert not {"responseStatus", "requestObject"} & tree_of(new_event, "RequestReceived").keys()


def test_event_has_no_headers_but_user_agent_and_addresses():
    of = request("GET", "/version", (b"authorization", b"Bearer s3cret"), (b"cookie", b"s3cret"))
    new_event = event(of, AuditLevel.REQUEST_RESPONSE)
    new_event.answered(200)
    assert "s3cret" not in json.dumps(tree_of(new_event))


def test_event_has_user_and_impersonated_user():
    of = request()
    new_event = event(of)
    of.user = UserInfo("bob")
    assert (tree_of(new_event)["user"]["username"], tree_of(new_event)["impersonatedUser"]) == (
        "alice",
        {"username": "bob"},
    )
    assert "authenticationMetadata" not in tree_of(new_event)
    new_event.notes.impersonation_constraint = "impersonate:user-info"
    assert tree_of(new_event)["authenticationMetadata"] == {"impersonationConstraint": "impersonate:user-info"}


@pytest.mark.parametrize(
    ("level", "has_request", "has_response"),
    [
        (AuditLevel.METADATA, False, False),
        (AuditLevel.REQUEST, True, False),
        (AuditLevel.REQUEST_RESPONSE, True, True),
    ],
)
def test_level_selects_recorded_objects(level, has_request, has_response):
    new_event = event(request("POST"), level)
    new_event.request_body = RequestBody(POD, "application/json")
    new_event.response_body = ResponseBody([POD], "application/json", gzipped=False)
    tree = tree_of(new_event)
    assert (("requestObject" in tree), ("responseObject" in tree)) == (has_request, has_response)


def test_created_object_is_identified_by_its_body():
    new_event = event(request("POST"))
    new_event.request_body = RequestBody(POD, "application/json")
    ref = tree_of(new_event)["objectRef"]
    assert (ref["name"], ref["uid"], ref["resourceVersion"]) == ("b", "7", "5")


def test_managed_fields_are_omitted_by_policy():
    new_event = event(request("POST"), AuditLevel.REQUEST_RESPONSE, omit_managed_fields=True)
    new_event.request_body = RequestBody(POD, "application/json")
    new_event.response_body = ResponseBody([b'{"items":[', POD, b"]}"], "application/json", gzipped=False)
    tree = tree_of(new_event)
    assert "managedFields" not in tree["requestObject"]["metadata"]
    assert "managedFields" not in tree["responseObject"]["items"][0]["metadata"]


def test_patch_is_recorded_unchanged():
    new_event = event(request("PATCH"), AuditLevel.REQUEST, omit_managed_fields=True)
    new_event.request_body = RequestBody(b'[{"op":"remove","path":"/a"}]', "application/json-patch+json")
    assert tree_of(new_event)["requestObject"] == [{"op": "remove", "path": "/a"}]


def test_error_status_is_recorded_with_details():
    new_event = event(request())
    new_event.answered(
        404, {"kind": "Status", "metadata": {}, "status": "Failure", "message": "no", "details": {"name": "b"}}
    )
    assert tree_of(new_event)["responseStatus"] == {
        "metadata": {},
        "status": "Failure",
        "message": "no",
        "details": {"name": "b"},
        "code": 404,
    }


@pytest.mark.parametrize(
    ("headers", "client", "expected"),
    [
        ([], ("192.0.2.7", 1), ["192.0.2.7"]),
        ([], None, []),
        ([(b"x-forwarded-for", b"192.0.2.1, nonsense, ::1")], ("192.0.2.7", 1), ["192.0.2.1", "::1", "192.0.2.7"]),
        ([(b"x-forwarded-for", b"192.0.2.7")], ("192.0.2.7", 1), ["192.0.2.7"]),
        ([(b"x-real-ip", b"192.0.2.9")], ("192.0.2.7", 1), ["192.0.2.9", "192.0.2.7"]),
    ],
)
def test_source_ips_include_proxies(headers, client, expected):
    assert source_ips(request("GET", "/version", *headers, client=client)) == expected


def test_long_user_agent_is_truncated():
    of = request("GET", "/version", (b"user-agent", b"x" * 2000))
    assert tree_of(event(of))["userAgent"] == "x" * 1024 + "...TRUNCATED"


def test_oversized_event_is_truncated_and_annotated():
    tree = {"requestObject": "x" * 100, "verb": "get"}
    assert truncated(tree, size_max_bytes=1000) is tree
    assert truncated(tree, size_max_bytes=80) == {"verb": "get", "annotations": {"audit.k8s.io/truncated": "true"}}
    assert truncated(tree, size_max_bytes=20) is None


def test_legacy_format_is_one_line():
    new_event = event(request())
    new_event.answered(200)
    assert legacy_line(new_event.tree("ResponseComplete", now=NOW)).decode() == (
        '2026-01-01T00:00:00.000000Z AUDIT: id="id-1" stage="ResponseComplete" ip="192.0.2.7" method="list" '
        'user="alice" groups="dev" as="<self>" asgroups="<lookup>" user-agent="" namespace="a" '
        'uri="/api/v1/namespaces/a/pods" response="200"\n'
    )


def test_is_status_recognizes_status_bodies():
    assert is_status(b'{"kind":"Status","apiVersion":"v1"}')
    assert is_status(b'{\n  "kind": "Status"')
    assert not is_status(b'{"kind":"Pod"}')
