"""Who a server is, and who is gone."""

from datetime import UTC, datetime, timedelta

import pytest

from steersman.controlplane.bootstrap.identity import Identity, is_expired

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_the_name_is_made_from_the_host_and_each_run_is_another_holder():
    """The name is kube-apiserver's for this host: apiserver-, and base32 of half of its SHA-256."""
    first, second = Identity("host", holder_suffix="1"), Identity("host", holder_suffix="2")
    assert first.id == second.id == "apiserver-i5ak4y2hwalsyajfj72vxls274"
    assert first.holder == "apiserver-i5ak4y2hwalsyajfj72vxls274_1" != second.holder


def test_the_lease_tells_host_and_address():
    lease = Identity("host", holder_suffix="1", peer_address="192.0.2.1:6443").lease(now=NOW)
    assert lease["metadata"]["labels"] == {
        "apiserver.kubernetes.io/identity": "kube-apiserver",
        "kubernetes.io/hostname": "host",
    }
    assert lease["metadata"]["annotations"] == {"kubernetes.io/peer-advertise-address": "192.0.2.1:6443"}
    assert lease["spec"]["leaseDurationSeconds"] == 3600
    assert "annotations" not in Identity("host", holder_suffix="1").lease(now=NOW)["metadata"]


@pytest.mark.parametrize(("age_seconds", "expired"), [(3600, False), (3601, True), (-60, False)])
def test_a_server_is_gone_when_it_has_not_renewed_for_its_duration(age_seconds, expired):
    lease = Identity("host", holder_suffix="1").lease(now=NOW)
    assert is_expired(lease, now=NOW + timedelta(seconds=age_seconds)) is expired


def test_a_lease_that_says_nothing_is_nobodys():
    assert is_expired({"spec": {}}, now=NOW)
    assert is_expired({}, now=NOW)
