from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from lightkube.models.core_v1 import ConfigMap, Pod, Secret, ServiceAccount

from steersman.controllers.legacytokencleaner.controller import build
from steersman.controllers.legacytokencleaner.plan import (
    INVALID_SINCE,
    LAST_USED,
    TRACKING,
    Delete,
    Invalidate,
    decide,
    is_tracked_long_enough,
    mounted_secrets,
)

NOW = datetime(2026, 6, 1, tzinfo=UTC)
YEAR = timedelta(days=365)
ACCOUNT = msgspec.convert({"secrets": [{"name": "s"}]}, ServiceAccount)


def secret(*, created="2024-01-01T00:00:00Z", **labels):
    return msgspec.convert({"metadata": {"name": "s", "creationTimestamp": created, "labels": labels}}, Secret)


@pytest.mark.parametrize(("since", "long"), [("2025-01-01", True), ("2026-01-01", False), ("?", False)])
def test_uses_must_have_been_noted_for_the_whole_period(since, long):
    tracking = msgspec.convert({"data": {"since": since}}, ConfigMap)
    assert is_tracked_long_enough(tracking, now=NOW, period=YEAR) is long


@pytest.mark.parametrize(
    ("found", "account", "mounted", "wanted"),
    [
        (secret(), ACCOUNT, (), Invalidate("2026-06-01")),
        (secret(created="2026-01-01T00:00:00Z"), ACCOUNT, (), None),
        (secret(), None, (), None),
        (secret(), ACCOUNT, {"s"}, None),
        (secret(**{LAST_USED: "2026-01-01"}), ACCOUNT, (), None),
        (secret(**{LAST_USED: "2024-01-01"}), ACCOUNT, (), Invalidate("2026-06-01")),
        (secret(**{INVALID_SINCE: "2026-01-01"}), ACCOUNT, (), None),
        (secret(**{INVALID_SINCE: "2025-01-01"}), ACCOUNT, (), Delete()),
    ],
)
def test_unused_tokens_are_invalidated_and_then_deleted(found, account, mounted, wanted):
    assert decide(found, account, mounted, now=NOW, period=YEAR) == wanted


def test_mounts_are_found():
    volumes = [{"name": "v", "secret": {"secretName": "s"}}, {"name": "w", "emptyDir": {}}]
    pod = msgspec.convert({"metadata": {"namespace": "n"}, "spec": {"containers": [], "volumes": volumes}}, Pod)
    assert mounted_secrets([pod], "n") == {"s"}
    assert mounted_secrets([pod], "other") == set()


@pytest.mark.parametrize("invalid_since", ["", "2025-01-01"])
async def test_unused_secrets_are_labelled_or_deleted(cluster, clock, invalid_since):
    metadata = {"annotations": {"kubernetes.io/service-account.name": "robot"}}
    metadata |= {"labels": {INVALID_SINCE: invalid_since}} if invalid_since else {}
    await cluster.make("v1", "ServiceAccount", "robot", namespace="default", secrets=[{"name": "s"}])
    kind = "kubernetes.io/service-account-token"
    await cluster.make("v1", "Secret", "s", namespace="default", type=kind, metadata=metadata)
    tracking = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": TRACKING, "namespace": "kube-system"}}
    await cluster.client.apply({**tracking, "data": {"since": "2025-01-01"}}, field_manager="test", force=True)
    await clock.advance(5)
    await cluster.start(build, legacy_service_account_token_clean_up_period_seconds=1)

    def as_wanted(found):
        return found is None if invalid_since else INVALID_SINCE in found["metadata"].get("labels", {})

    await cluster.eventually("v1", "Secret", "s", as_wanted, namespace="default")
