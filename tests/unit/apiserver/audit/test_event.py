"""Audit events of requests."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from steersman.apiserver.audit.bodies import RequestBody, ResponseBody
from steersman.apiserver.audit.event import AuditEvent, fitted, is_status, json_line, legacy_line, source_ips
from steersman.apiserver.audit.policy import Outcome
from steersman.apiserver.filters.request_info import parse
from steersman.apiserver.http import Request
from steersman.apiserver.request import AuditLevel, UserInfo

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ALICE = UserInfo("alice", ("dev",), "u1", {"scopes": ("a", "b")})
POD = b'{"metadata":{"name":"b","uid":"7","resourceVersion":"5","managedFields":[{}]},\n"spec":{}}'


def request(method="GET", path="/api/v1/namespaces/a/pods", *headers, query=b"", client=("192.0.2.7", 1)) -> Request:
    scope = {"method": method, "path": path, "query_string": query, "headers": list(headers), "client": client}
    made = Request(scope, receive=None)
    made.info, made.user, made.audit_id = parse(method, path), ALICE, "id-1"
    return made


def event(of: Request, level=AuditLevel.METADATA, *, omit_managed_fields=False) -> AuditEvent:
    return AuditEvent(of, ALICE, Outcome(level, frozenset(), omit_managed_fields), received=NOW)


def tree_of(made: AuditEvent, stage="ResponseComplete") -> dict:
    return json.loads(json_line(made.tree(stage, now=NOW + timedelta(milliseconds=5))))


def test_event_has_upstreams_fields_in_order():
    of = request("GET", "/api/v1/namespaces/a/pods/b/log", (b"user-agent", b"kubectl"), query=b"follow=1")
    made = event(of)
    made.notes.add("authorization.k8s.io/decision", "allow")
    made.answered(200)
    assert list(tree_of(made).items()) == [
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
    made = event(request("POST"), AuditLevel.REQUEST_RESPONSE)
    made.request_body = RequestBody(POD, "application/json")
    made.answered(201)
    assert not {"responseStatus", "requestObject"} & tree_of(made, "RequestReceived").keys()


def test_event_has_no_headers_but_user_agent_and_addresses():
    of = request("GET", "/version", (b"authorization", b"Bearer s3cret"), (b"cookie", b"s3cret"))
    made = event(of, AuditLevel.REQUEST_RESPONSE)
    made.answered(200)
    assert "s3cret" not in json.dumps(tree_of(made))


def test_event_has_user_and_impersonated_user():
    of = request()
    made = event(of)
    of.user = UserInfo("bob")
    assert (tree_of(made)["user"]["username"], tree_of(made)["impersonatedUser"]) == ("alice", {"username": "bob"})
    assert "authenticationMetadata" not in tree_of(made)
    made.notes.impersonation_constraint = "impersonate:user-info"
    assert tree_of(made)["authenticationMetadata"] == {"impersonationConstraint": "impersonate:user-info"}


@pytest.mark.parametrize(
    ("level", "has_request", "has_response"),
    [
        (AuditLevel.METADATA, False, False),
        (AuditLevel.REQUEST, True, False),
        (AuditLevel.REQUEST_RESPONSE, True, True),
    ],
)
def test_level_selects_recorded_objects(level, has_request, has_response):
    made = event(request("POST"), level)
    made.request_body = RequestBody(POD, "application/json")
    made.response_body = ResponseBody([POD], "application/json", gzipped=False)
    tree = tree_of(made)
    assert (("requestObject" in tree), ("responseObject" in tree)) == (has_request, has_response)


def test_created_object_is_identified_by_its_body():
    made = event(request("POST"))
    made.request_body = RequestBody(POD, "application/json")
    ref = tree_of(made)["objectRef"]
    assert (ref["name"], ref["uid"], ref["resourceVersion"]) == ("b", "7", "5")


def test_managed_fields_are_omitted_by_policy():
    made = event(request("POST"), AuditLevel.REQUEST_RESPONSE, omit_managed_fields=True)
    made.request_body = RequestBody(POD, "application/json")
    made.response_body = ResponseBody([b'{"items":[', POD, b"]}"], "application/json", gzipped=False)
    tree = tree_of(made)
    assert "managedFields" not in tree["requestObject"]["metadata"]
    assert "managedFields" not in tree["responseObject"]["items"][0]["metadata"]


def test_patch_is_recorded_unchanged():
    made = event(request("PATCH"), AuditLevel.REQUEST, omit_managed_fields=True)
    made.request_body = RequestBody(b'[{"op":"remove","path":"/a"}]', "application/json-patch+json")
    assert tree_of(made)["requestObject"] == [{"op": "remove", "path": "/a"}]


def test_error_status_is_recorded_with_details():
    made = event(request())
    made.answered(
        404, {"kind": "Status", "metadata": {}, "status": "Failure", "message": "no", "details": {"name": "b"}}
    )
    assert tree_of(made)["responseStatus"] == {
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
    assert fitted(tree, size_max_bytes=1000) is tree
    assert fitted(tree, size_max_bytes=80) == {"verb": "get", "annotations": {"audit.k8s.io/truncated": "true"}}
    assert fitted(tree, size_max_bytes=20) is None


def test_legacy_format_is_one_line():
    made = event(request())
    made.answered(200)
    assert legacy_line(made.tree("ResponseComplete", now=NOW)).decode() == (
        '2026-01-01T00:00:00.000000Z AUDIT: id="id-1" stage="ResponseComplete" ip="192.0.2.7" method="list" '
        'user="alice" groups="dev" as="<self>" asgroups="<lookup>" user-agent="" namespace="a" '
        'uri="/api/v1/namespaces/a/pods" response="200"\n'
    )


def test_is_status_recognizes_status_bodies():
    assert is_status(b'{"kind":"Status","apiVersion":"v1"}')
    assert is_status(b'{\n  "kind": "Status"')
    assert not is_status(b'{"kind":"Pod"}')
