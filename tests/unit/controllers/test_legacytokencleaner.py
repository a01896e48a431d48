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
    account_of,
    decide,
    is_tracked_long_enough,
    used_secrets,
)

NOW = datetime(2026, 6, 1, tzinfo=UTC)
YEAR = timedelta(days=365)
ACCOUNT = msgspec.convert({"secrets": [{"name": "s"}]}, ServiceAccount)


def secret(*, created="2024-01-01T00:00:00Z", **labels):
    return msgspec.convert({"metadata": {"name": "s", "creationTimestamp": created, "labels": labels}}, Secret)


@pytest.mark.parametrize(
    ("since", "long"),
    [
        ("2025-01-01", True),
        ("2025-05-31", True),
        ("2025-06-01", False),
        ("2026-01-01", False),
        ("?", False),
        ("20250101", False),
    ],
)
def test_tokens_are_kept_until_tracking_has_run_for_the_period(since, long):
    tracking = msgspec.convert({"data": {"since": since}}, ConfigMap)
    assert is_tracked_long_enough(tracking, now=NOW, period=YEAR) is long


@pytest.mark.parametrize(
    ("obj", "account", "mounted", "expected"),
    [
        (secret(), ACCOUNT, (), Invalidate("2026-06-01")),
        (secret(created="2026-01-01T00:00:00Z"), ACCOUNT, (), None),
        (secret(), None, (), None),
        (secret(), ACCOUNT, {"s"}, None),
        (secret(**{LAST_USED: "2026-01-01"}), ACCOUNT, (), None),
        (secret(**{LAST_USED: "2024-01-01"}), ACCOUNT, (), Invalidate("2026-06-01")),
        (secret(**{LAST_USED: "long ago"}), ACCOUNT, (), None),
        (secret(**{INVALID_SINCE: "?"}), ACCOUNT, (), Invalidate("2026-06-01")),
        (secret(**{INVALID_SINCE: "2026-01-01"}), ACCOUNT, (), None),
        (secret(**{INVALID_SINCE: "2025-01-01"}), ACCOUNT, (), Delete()),
    ],
)
def test_decide_invalidates_unused_tokens_then_deletes_them(obj, account, mounted, expected):
    assert decide(obj, account, mounted, now=NOW, period=YEAR) == expected


def test_account_of_another_uid_is_not_the_secrets_account():
    account = msgspec.convert({"metadata": {"uid": "1"}}, ServiceAccount)
    for uid, expected in (("", account), ("1", account), ("2", None)):
        annotations = {"kubernetes.io/service-account.uid": uid} if uid else {}
        named = msgspec.convert({"metadata": {"name": "s", "annotations": annotations}}, Secret)
        assert account_of(named, account) is expected
        assert account_of(named, None) is None


def test_used_secrets_are_those_that_pods_refer_to():
    spec = {
        "imagePullSecrets": [{"name": "pull"}],
        "containers": [{"name": "c", "envFrom": [{"secretRef": {"name": "env"}}]}],
        "volumes": [{"name": "v", "secret": {"secretName": "s"}}, {"name": "w", "emptyDir": {}}],
    }
    pod = msgspec.convert({"metadata": {"namespace": "n"}, "spec": spec}, Pod)
    assert used_secrets([pod], "n") == {"pull", "env", "s"}
    assert used_secrets([pod], "other") == set()


async def make_tokens(cluster, *names, **labels):
    """Create Secrets that their account lists and that are tracked for long."""
    metadata = {"annotations": {"kubernetes.io/service-account.name": "robot"}, "labels": labels}
    listed = [{"name": name} for name in names]
    await cluster.make("v1", "ServiceAccount", "robot", namespace="default", secrets=listed)
    for name in names:
        kind = "kubernetes.io/service-account-token"
        await cluster.make("v1", "Secret", name, namespace="default", type=kind, metadata=metadata)
    tracking = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": TRACKING, "namespace": "kube-system"}}
    await cluster.client.apply({**tracking, "data": {"since": "2025-01-01"}}, field_manager="test", force=True)
    await cluster.clock.advance(5)


def is_invalid(obj):
    return INVALID_SINCE in obj["metadata"].get("labels", {})


async def test_unused_secret_gets_the_invalid_since_label(cluster):
    await make_tokens(cluster, "s")
    await cluster.start(build, legacy_service_account_token_clean_up_period_seconds=1)
    await cluster.eventually("v1", "Secret", "s", is_invalid, namespace="default")


async def test_invalid_secret_is_deleted(cluster):
    await make_tokens(cluster, "s", **{INVALID_SINCE: "2025-01-01"})
    await cluster.start(build, legacy_service_account_token_clean_up_period_seconds=1)
    await cluster.eventually("v1", "Secret", "s", lambda obj: obj is None, namespace="default")


async def test_failed_secret_does_not_stop_the_others(cluster):
    await make_tokens(cluster, "a", "b", "c")
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["secrets"], "operations": ["UPDATE"]}
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": "object.metadata.name != 'a' && object.metadata.name != 'b'"}],
    }
    api = "admissionregistration.k8s.io/v1"
    await cluster.make(api, "ValidatingAdmissionPolicy", "keep", spec=spec)
    binding = {"policyName": "keep", "validationActions": ["Deny"]}
    await cluster.make(api, "ValidatingAdmissionPolicyBinding", "keep", spec=binding)
    await cluster.clock.advance(5)
    await cluster.start(build, legacy_service_account_token_clean_up_period_seconds=1)
    await cluster.eventually("v1", "Secret", "c", is_invalid, namespace="default")
    assert not is_invalid(await cluster.find("v1", "Secret", "a", namespace="default"))
