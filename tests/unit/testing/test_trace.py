"""Trace of requests."""

import pytest

from steersman.testing.trace import REQUESTS_MAX, RequestRecord, RequestTrace, is_agent_match, is_resource_match


def record(**fields):
    values = {"user_agent": "kubectl/1", "verb": "get", "resource": "pods", "subresource": "", "namespace": "default"}
    return RequestRecord(time="2026-01-01T00:00:00Z", path="/", **{**values, "name": "a", **fields})


@pytest.mark.parametrize(
    ("pattern", "is_match"),
    [("deployments", True), ("deployments.apps", True), ("deployments.*", True), ("deployments/status", True),
     ("deployments/scale", False), ("deploy*", True), ("pods", False)],
)  # fmt: skip
def test_resource_pattern_matches_group_and_subresource(pattern, is_match):
    assert is_resource_match(pattern, "deployments.apps", "status") == is_match


def test_agent_pattern_matches_the_beginning():
    assert is_agent_match("kubectl", "kubectl/1 linux")
    assert is_agent_match("*linux", "kubectl/1 linux")
    assert not is_agent_match("linux", "kubectl/1 linux")


def test_find_returns_requests_that_match_all_patterns():
    trace = RequestTrace()
    for item in (record(), record(verb="list", name=""), record(user="jane", code=404)):
        trace.add(item)
    assert len(trace.find(resource="pods")) == 3
    assert [item.code for item in trace.find(verb="get", user="jane")] == [404]
    assert trace.find(code=404, user_agent="curl") == []


def test_trace_is_bounded_and_drops_the_oldest():
    trace = RequestTrace()
    for number in range(REQUESTS_MAX + 2):
        trace.add(record(name=str(number)))
    records = list(trace)
    assert (len(records), records[0].name, trace.total) == (REQUESTS_MAX, "2", REQUESTS_MAX + 2)


def test_record_as_text_has_verb_path_and_code():
    assert str(record(code=200)) == "2026-01-01T00:00:00Z 200 get pods default/a by kubectl/1"
    assert str(record(fault="reset")).endswith("no response get pods default/a by kubectl/1 (reset)")
