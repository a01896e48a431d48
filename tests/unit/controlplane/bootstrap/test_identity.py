"""API server identity: the fields of its Lease, and expiry."""

from datetime import UTC, datetime, timedelta

import pytest

from steersman.controlplane.bootstrap.identity import Identity, is_expired, server_id

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_server_id_equals_the_one_of_kube_apiserver():
    """Recorded from a kube-apiserver 1.36 on a host of the name ``vm``."""
    assert server_id("vm") == "apiserver-wlv32tlttr4jl3gtroqexyxapa"


def test_identity_of_each_run_has_its_own_holder():
    first, second = Identity("vm", holder_suffix="1"), Identity("vm", holder_suffix="2")
    assert first.id == second.id == server_id("vm")
    assert first.holder == f"{server_id('vm')}_1" != second.holder


def processed(lease, *, peer_address=""):
    Identity("host", holder_suffix="1", peer_address=lambda: peer_address).process_lease(lease)
    return lease


def test_process_lease_sets_labels_peer_address_and_holder():
    lease = processed({"metadata": {"name": "x"}, "spec": {"renewTime": "t"}}, peer_address="192.0.2.1:6443")
    assert lease["metadata"] == {
        "name": "x",
        "labels": {"apiserver.kubernetes.io/identity": "kube-apiserver", "kubernetes.io/hostname": "host"},
        "annotations": {"kubernetes.io/peer-advertise-address": "192.0.2.1:6443"},
    }
    holder = Identity("host", holder_suffix="1").holder
    assert lease["spec"] == {"renewTime": "t", "holderIdentity": holder, "leaseDurationSeconds": 3600}


def test_process_lease_keeps_other_labels_and_removes_the_peer_address_of_an_earlier_run():
    annotations = {"kubernetes.io/peer-advertise-address": "192.0.2.9:6443", "a": "b"}
    lease = processed({"metadata": {"labels": {"c": "d"}, "annotations": annotations}, "spec": {}})
    assert lease["metadata"]["labels"]["c"] == "d"
    assert lease["metadata"]["annotations"] == {"a": "b"}


@pytest.mark.parametrize(("age_seconds", "expired"), [(3600, False), (3601, True), (-60, False)])
def test_is_expired_after_the_lease_duration(age_seconds, expired):
    lease = {"spec": {"renewTime": "2026-01-01T12:00:00.000000Z", "leaseDurationSeconds": 3600}}
    assert is_expired(lease, now=NOW + timedelta(seconds=age_seconds)) is expired


def test_is_expired_is_true_for_a_lease_without_times():
    assert is_expired({"spec": {}}, now=NOW)
    assert is_expired({}, now=NOW)
