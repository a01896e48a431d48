from datetime import UTC, datetime

from steersman.client.leaderelection.record import Record, record_of, spec_of

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


def test_a_record_is_what_a_lease_says():
    record = record_of({"spec": FULL})
    assert record == Record("a", 15, AT, AT, 3, "OldestEmulationVersion", "b")
    assert spec_of(record) == FULL


def test_an_empty_lease_is_free():
    assert record_of({}) == Record("", 0)
    assert record_of({"spec": {"holderIdentity": None}}).holder == ""


def test_a_free_lease_says_so_with_an_empty_holder():
    assert spec_of(Record("", 1)) == {"holderIdentity": "", "leaseDurationSeconds": 1, "leaseTransitions": 0}
