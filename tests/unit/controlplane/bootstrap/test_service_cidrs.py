"""Conditions and finalizers of ServiceCIDRs."""

from datetime import UTC, datetime, timedelta

import pytest

from steersman.controlplane.bootstrap.service_cidrs import FINALIZER, is_needed, plan_service_cidr

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
READY = {"type": "Ready", "status": "True", "reason": "", "message": "Kubernetes Service CIDR is ready"}


def cidr(name, *cidrs, finalizers=(), deleted_seconds_ago=None, conditions=()):
    metadata = {"name": name, "finalizers": list(finalizers)}
    if deleted_seconds_ago is not None:
        moment = NOW - timedelta(seconds=deleted_seconds_ago)
        metadata["deletionTimestamp"] = moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"metadata": metadata, "spec": {"cidrs": list(cidrs)}, "status": {"conditions": list(conditions)}}


def address(ip, managed_by="ipallocator.k8s.io"):
    return {"metadata": {"name": ip, "labels": {"ipaddress.kubernetes.io/managed-by": managed_by}}}


def plan(one, *others, addresses=()):
    return plan_service_cidr(one, [one, *others], addresses, now=NOW)


def test_plan_adds_finalizer_and_condition_to_a_new_service_cidr():
    new_plan = plan(cidr("a", "10.1.0.0/24"))
    assert new_plan.add_finalizer
    assert new_plan.condition == {**READY, "lastTransitionTime": "2026-01-01T12:00:00Z"}


def test_plan_is_empty_for_a_ready_service_cidr():
    done = plan(cidr("a", "10.1.0.0/24", finalizers=[FINALIZER], conditions=[READY]))
    assert (done.add_finalizer, done.condition) == (False, None)


def test_plan_ignores_the_default_service_cidr():
    new_plan = plan(cidr("kubernetes", "10.0.0.0/24"))
    assert (new_plan.add_finalizer, new_plan.condition) == (False, None)


def test_plan_keeps_a_terminating_service_cidr_in_use():
    new_plan = plan(
        cidr("a", "10.1.0.0/24", finalizers=[FINALIZER], deleted_seconds_ago=60, conditions=[READY]),
        addresses=[address("10.1.0.7")],
    )
    assert (new_plan.remove_finalizer, new_plan.condition["status"], new_plan.condition["reason"]) == (
        False,
        "False",
        "Terminating",
    )
    again = plan(
        cidr("a", "10.1.0.0/24", finalizers=[FINALIZER], deleted_seconds_ago=60, conditions=[new_plan.condition]),
        addresses=[address("10.1.0.7")],
    )
    assert again.condition is None


def test_plan_removes_an_unused_terminating_service_cidr_after_a_delay():
    young = plan(cidr("a", "10.1.0.0/24", finalizers=[FINALIZER], deleted_seconds_ago=0))
    assert (young.remove_finalizer, young.again_seconds) == (False, 1)
    assert plan(cidr("a", "10.1.0.0/24", finalizers=[FINALIZER], deleted_seconds_ago=1)).remove_finalizer


def test_plan_ignores_service_cidrs_without_the_finalizer():
    assert plan(cidr("a", "10.1.0.0/24", finalizers=["x/y"], deleted_seconds_ago=60)) == plan_nothing()


def plan_nothing():
    return plan(cidr("kubernetes", "10.0.0.0/24"))


@pytest.mark.parametrize(
    ("others", "addresses", "needed"),
    [
        ([], [], False),
        ([], [address("10.1.0.7")], True),
        ([], [address("10.2.0.7")], False),
        ([], [address("10.1.0.7", "somebody")], False),
        (["10.1.0.0/16"], [address("10.1.0.7")], False),
        (["10.1.0.0/24"], [address("10.1.0.7")], False),
        (["10.1.0.0/25"], [address("10.1.0.7")], False),
        (["10.1.0.0/25"], [address("10.1.0.200")], True),
        (["fd00::/112"], [address("10.1.0.7")], True),
    ],
)
def test_service_cidr_is_needed_while_an_address_is_in_no_other(others, addresses, needed):
    one = cidr("a", "10.1.0.0/24")
    assert is_needed(one, [one, *(cidr(f"o{text}", text) for text in others)], addresses) is needed
