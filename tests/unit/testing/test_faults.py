"""Matching of faults."""

from random import Random

import pytest

from steersman.apiserver.filters.request_info import parse
from steersman.testing.faults import FaultError, FaultSet, LeftoverFaults, make_fault

PODS = parse("POST", "/api/v1/namespaces/default/pods")
STATUS = parse("PUT", "/apis/apps/v1/namespaces/default/deployments/web/status")
AGENT = "kubelet/1.36 steersman"


def faults(*arguments):
    fault_set = FaultSet(Random(1))
    for fields in arguments:
        fault_set.add(make_fault(**fields))
    return fault_set


@pytest.mark.parametrize(
    ("fields", "is_hit"),
    [
        ({}, True),
        ({"verb": "create"}, True),
        ({"verb": "update"}, False),
        ({"resource": "pods"}, True),
        ({"resource": "deployments"}, False),
        ({"namespace": "def*"}, True),
        ({"namespace": "other"}, False),
        ({"user_agent": "kubelet"}, True),
        ({"user_agent": "*steersman"}, True),
        ({"user_agent": "kubectl"}, False),
    ],
)
def test_fault_matches_request_by_each_pattern(fields, is_hit):
    assert (faults({"respond": 500, **fields}).select(PODS, AGENT) is not None) == is_hit


@pytest.mark.parametrize(
    ("resource", "is_hit"),
    [("deployments", True), ("deployments.apps", True), ("deployments/status", True), ("deployments/scale", False),
     ("deployments.batch", False)],
)  # fmt: skip
def test_fault_matches_groups_and_subresources(resource, is_hit):
    assert (faults({"respond": 500, "resource": resource}).select(STATUS, AGENT) is not None) == is_hit


def test_fault_spares_the_first_requests_and_ends_after_its_times():
    new_faults = faults({"respond": 500, "after": 2, "times": 1})
    assert [new_faults.select(PODS, AGENT) is not None for _ in range(5)] == [False, False, True, False, False]


def test_fault_with_probability_is_decided_by_the_dice():
    def hits(seed):
        fault_set = FaultSet(Random(seed))
        fault_set.add(make_fault(respond=500, probability=0.5))
        return [fault_set.select(PODS, AGENT) is not None for _ in range(30)]

    assert hits(1) == hits(1) != hits(2)
    assert 5 < sum(hits(1)) < 25


def test_first_matching_fault_is_applied():
    new_faults = faults({"respond": 500, "times": 1}, {"respond": 409})
    assert [new_faults.select(PODS, AGENT).respond for _ in range(2)] == [500, 409]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"responds": 500}, 'unknown field "responds" of a fault, expected one of: verb, resource'),
        ({"respond": 999}, "respond: cannot respond 999"),
        ({"respond": "explode"}, "respond: cannot respond 'explode'"),
        ({}, "respond: a fault needs a response, a delay or stale reads"),
        ({"respond": 500, "probability": 0}, "probability: 0 is not above 0"),
        ({"respond": 500, "times": 0}, "times: 0 is less than 1"),
        ({"respond": 500, "after": -1}, "after: -1 is negative"),
        ({"delay_seconds": -1}, "delay_seconds: -1 is negative"),
        ({"respond": 500, "times": "3"}, "times: expected `int | null`, got `str`"),
        ({"respond": 500, "name": 3}, "name: expected `str`, got `int`"),
        ({"respond": 500, "verb": "PATCH"}, 'verb: "PATCH" is no verb of a request, expected one of: get, list'),
        ({"respond": 500, "resource": "ConfigMap"}, 'resource: "ConfigMap" is no resource, expected a plural'),
    ],
)
def test_bad_fault_is_an_error_that_names_the_field(fields, message):
    with pytest.raises(FaultError, match=message):
        make_fault(**fields)


def test_status_code_may_be_text():
    assert make_fault(respond="503").respond == 503


def test_leftover_faults_are_reported_with_their_hits():
    new_faults = faults({"respond": 500, "times": 2, "verb": "create"}, {"respond": 409, "optional": True})
    new_faults.select(PODS, AGENT)
    with pytest.raises(LeftoverFaults, match="respond 500 to create any resource: 1 hits, expected 2"):
        new_faults.check_leftover()
    new_faults.select(PODS, AGENT)
    new_faults.check_leftover()
