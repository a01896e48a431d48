"""Periods of coordinated leader election, by what they cause: each test fails when its constant changes."""

from datetime import UTC, datetime, timedelta

import pytest

from steersman.controlplane.elections.objects import OLDEST_EMULATION_VERSION, Candidate, Lease
from steersman.controlplane.elections.step import Assign, Create, decide
from steersman.controlplane.elections.versions import ZERO
from steersman.controlplane.elections.writes import lease_patch, new_lease

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def candidate(name, *, renewed=0.0, pinged=None):
    return Candidate(
        name=name,
        lease_name="l",
        binary=ZERO,
        emulation=ZERO,
        strategy=OLDEST_EMULATION_VERSION,
        created=NOW - timedelta(hours=1),
        renewed=NOW - timedelta(seconds=renewed),
        pinged=None if pinged is None else NOW - timedelta(seconds=pinged),
    )


def test_elected_holder_has_five_seconds_to_renew():
    create = Create("a", OLDEST_EMULATION_VERSION)
    lease = new_lease(create, namespace="ns", name="l", now=NOW)
    assert lease["metadata"] == {"namespace": "ns", "name": "l"}
    assert lease["spec"] == {
        "holderIdentity": "a",
        "strategy": "OldestEmulationVersion",
        "leaseDurationSeconds": 5,
        "renewTime": "2026-01-01T12:00:00.000000Z",
    }


def test_lease_patch_of_an_assignment_resets_the_fields_of_upstream():
    """Holder, strategy, renew time and duration are set, preferred holder and acquire time cleared."""
    lease = Lease(holder="old", preferred="a", renewed=NOW, duration_seconds=60, resource_version="7")
    patch = lease_patch(Assign("a", OLDEST_EMULATION_VERSION), lease, now=NOW)
    assert patch["metadata"] == {"resourceVersion": "7"}
    assert patch["spec"] == {
        "holderIdentity": "a",
        "strategy": "OldestEmulationVersion",
        "leaseDurationSeconds": 5,
        "renewTime": "2026-01-01T12:00:00.000000Z",
        "preferredHolder": None,
        "acquireTime": None,
    }


def test_next_step_is_five_seconds_after_an_election():
    decision = decide(None, [candidate("a")], now=NOW)
    assert isinstance(decision.write, Create)
    assert decision.next_check == NOW + timedelta(seconds=5)


@pytest.mark.parametrize(("renewed", "is_elected"), [(5.0, True), (5.001, False)])
def test_renewal_is_valid_for_five_seconds(renewed, is_elected):
    assert (decide(None, [candidate("a", renewed=renewed)], now=NOW).write is not None) is is_elected


def test_acknowledgement_is_awaited_for_five_seconds():
    decision = decide(None, [candidate("a", renewed=60, pinged=1)], now=NOW)
    assert (decision.write, decision.next_check) == (None, NOW + timedelta(seconds=4))


@pytest.mark.parametrize(("minutes", "requested"), [(14.9, ()), (15, ("a",)), (30, ("a",)), (30.1, ())])
def test_candidates_are_valid_for_thirty_minutes_and_pinged_after_half(minutes, requested):
    lease = Lease(holder="a", renewed=NOW, duration_seconds=60, strategy=OLDEST_EMULATION_VERSION)
    assert decide(lease, [candidate("a", renewed=minutes * 60)], now=NOW).ask == requested
