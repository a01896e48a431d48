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


def test_a_new_one_gets_a_finalizer_and_is_ready():
    made = plan(cidr("a", "10.1.0.0/24"))
    assert made.add_finalizer
    assert made.condition == {**READY, "lastTransitionTime": "2026-01-01T12:00:00Z"}


def test_one_that_has_both_stays():
    done = plan(cidr("a", "10.1.0.0/24", finalizers=[FINALIZER], conditions=[READY]))
    assert (done.add_finalizer, done.condition) == (False, None)


def test_the_default_one_is_the_servers_own_business():
    made = plan(cidr("kubernetes", "10.0.0.0/24"))
    assert (made.add_finalizer, made.condition) == (False, None)


def test_one_that_is_in_use_says_so_and_stays():
    made = plan(
        cidr("a", "10.1.0.0/24", finalizers=[FINALIZER], deleted_seconds_ago=60, conditions=[READY]),
        addresses=[address("10.1.0.7")],
    )
    assert (made.remove_finalizer, made.condition["status"], made.condition["reason"]) == (
        False,
        "False",
        "Terminating",
    )
    again = plan(
        cidr("a", "10.1.0.0/24", finalizers=[FINALIZER], deleted_seconds_ago=60, conditions=[made.condition]),
        addresses=[address("10.1.0.7")],
    )
    assert again.condition is None


def test_one_that_nobody_needs_goes_after_a_moment():
    young = plan(cidr("a", "10.1.0.0/24", finalizers=[FINALIZER], deleted_seconds_ago=0))
    assert (young.remove_finalizer, young.again_seconds) == (False, 1)
    assert plan(cidr("a", "10.1.0.0/24", finalizers=[FINALIZER], deleted_seconds_ago=1)).remove_finalizer


def test_what_has_no_finalizer_of_ours_is_left_alone():
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
def test_it_is_needed_while_an_address_would_be_in_no_range(others, addresses, needed):
    one = cidr("a", "10.1.0.0/24")
    assert is_needed(one, [one, *(cidr(f"o{text}", text) for text in others)], addresses) is needed
