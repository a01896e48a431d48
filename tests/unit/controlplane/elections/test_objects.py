"""Leases and candidates, read from trees."""

from datetime import UTC, datetime

from steersman.controlplane.elections.liveness import VALID
from steersman.controlplane.elections.objects import read_candidate, read_lease
from steersman.controlplane.elections.versions import ZERO, parse_version


def test_read_candidate_decodes_all_fields():
    tree = {
        "metadata": {"name": "a", "creationTimestamp": "2026-01-01T00:00:00Z", "resourceVersion": "7"},
        "spec": {
            "leaseName": "lead",
            "binaryVersion": "1.36.0",
            "emulationVersion": "1.35.0",
            "strategy": "OldestEmulationVersion",
            "renewTime": "2026-01-01T00:00:01.500000Z",
            "pingTime": "2026-01-01T00:00:01.000000Z",
        },
    }
    read = read_candidate(tree)
    assert (read.name, read.lease_name, read.strategy) == ("a", "lead", "OldestEmulationVersion")
    assert (read.binary, read.emulation) == (parse_version("1.36.0"), parse_version("1.35.0"))
    assert read.renewed == datetime(2026, 1, 1, 0, 0, 1, 500000, tzinfo=UTC)
    assert read.pinged < read.renewed
    assert read.resource_version == "7"


def test_read_candidate_without_spec_has_no_renewal():
    read = read_candidate({"metadata": {"name": "a"}})
    assert (read.renewed, read.pinged, read.binary, read.strategy) == (None, None, ZERO, "")


def test_lease_expires_after_its_duration():
    tree = {"spec": {"holderIdentity": "a", "leaseDurationSeconds": 5, "renewTime": "2026-01-01T00:00:00.000000Z"}}
    assert read_lease(tree).expires == datetime(2026, 1, 1, 0, 0, 5, tzinfo=UTC)


def test_times_leave_room_for_durations():
    late, early = "9999-12-31T23:59:59.999999Z", "0001-01-01T00:00:00.000001Z"
    lease = read_lease({"spec": {"leaseDurationSeconds": 2**31 - 1, "renewTime": late}})
    assert lease.expires > datetime(9000, 1, 1, tzinfo=UTC)
    read = read_candidate({"metadata": {"name": "a"}, "spec": {"renewTime": late, "pingTime": early}})
    assert read.renewed + VALID > read.renewed
    assert read.pinged - VALID < read.pinged


def test_lease_without_duration_is_expired():
    assert read_lease({"spec": {"holderIdentity": "a"}}).expires.year == 1970
    assert read_lease({}).holder == ""
