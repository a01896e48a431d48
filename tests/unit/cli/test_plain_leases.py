"""Leases that are held without coordinated election."""

from datetime import UTC, datetime

from steersman.cli.plain_leases import plain_leases, show_plain_leases

NOW = datetime(2026, 1, 2, 0, 1, 30, tzinfo=UTC)


def lease(name, namespace="kube-system", labels=None, **spec):
    return {"metadata": {"name": name, "namespace": namespace, "labels": labels}, "spec": spec}


def test_heartbeats_identities_and_contested_leases_are_left_out():
    leases = [
        lease("node-0", "kube-node-lease"),
        lease("apiserver-x", labels={"apiserver.kubernetes.io/identity": "kube-apiserver"}),
        lease("coordinated"),
        lease("coordinated", "default"),
    ]
    assert plain_leases(leases, {("kube-system", "coordinated")}) == [leases[3]]


def test_table_has_holder_age_state_and_transitions():
    held = lease(
        "operator", "default", holderIdentity="me", leaseDurationSeconds=15, leaseTransitions=3,
        acquireTime="2026-01-02T00:00:00.000000Z", renewTime="2026-01-02T00:01:20.000000Z",
    )  # fmt: skip
    expired = lease("b", holderIdentity="it", leaseDurationSeconds=5, renewTime="2026-01-02T00:01:20.000000Z")
    released = lease("a", holderIdentity="", acquireTime="2026-01-02T00:00:00.000000Z")
    assert show_plain_leases([released, held, expired], now=NOW) == (
        "LEASE             HOLDER  HELD FOR  RENEWED  STATE     TRANSITIONS\n"
        "default/operator  me      1m30s     10s ago  held      3\n"
        "kube-system/a     -       -         never    released  0\n"
        "kube-system/b     it      -         10s ago  expired   0\n"
    )


def test_table_is_empty_without_leases():
    assert show_plain_leases([], now=NOW) == ""
