"""Metrics of authentication and authorization."""

import pytest

from steersman.apiserver.filters.access_metrics import AccessMetrics


async def collected(metrics: AccessMetrics) -> dict:
    return {family.name: family for family in await metrics.collect()}


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("admin", "admin"),
        ("system:serviceaccount:kube-system:default", "system:serviceaccount:kube-system:default"),
        ("alice@example.com", "email_id"),
        ("system:serviceaccount:default:a", "other"),
    ],
)
async def test_users_share_labels_as_upstream(name: str, label: str):
    metrics = AccessMetrics()
    metrics.authenticated(name, 0.001)
    family = (await collected(metrics))["authenticated_user_requests"]
    assert family.samples == [("", (("username", label),), 1)]


async def test_durations_are_counted_by_result():
    metrics = AccessMetrics()
    metrics.authorized(0.0015, is_allowed=True)
    metrics.authorized(100, is_allowed=True)
    family = (await collected(metrics))["authorization_duration_seconds"]
    counts = {dict(labels).get("le"): count for suffix, labels, count in family.samples if suffix == "_bucket"}
    assert (family.type, counts["0.001"], counts["0.002"], counts["+Inf"]) == ("histogram", 0, 1, 2)
    assert {dict(labels)["result"] for _, labels, _ in family.samples} == {"allowed"}
