from datetime import UTC, datetime

from steersman.client.leaderelection.record import LeaderElectionRecord, record_of, spec_of

AT = datetime(2026, 1, 1, 12, 0, 0, 250000, tzinfo=UTC)
FULL = {
    "holderIdentity": "a",
    "leaseDurationSeconds": 15,
    "leaseTransitions": 3,
    "acquireTime": "2026-01-01T12:00:00.250000Z",
    "renewTime": "2026-01-01T12:00:00.250000Z",
    "strategy": "OldestEmulationVersion",
    "preferredHolder": "b",
}


def test_record_of_and_spec_of_round_trip():
    record = record_of({"spec": FULL})
    assert record == LeaderElectionRecord("a", 15, AT, AT, 3, "OldestEmulationVersion", "b")
    assert spec_of(record) == FULL


def test_record_of_an_empty_lease_has_no_holder():
    assert record_of({}) == LeaderElectionRecord("", 0)
    assert record_of({"spec": {"holderIdentity": None}}).holder == ""


def test_spec_of_a_released_record_has_an_empty_holder():
    assert spec_of(LeaderElectionRecord("", 1)) == {
        "holderIdentity": "",
        "leaseDurationSeconds": 1,
        "leaseTransitions": 0,
    }
