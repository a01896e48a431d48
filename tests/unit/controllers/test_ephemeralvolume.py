import msgspec
import pytest
from lightkube.models.core_v1 import PersistentVolumeClaim, Pod

from steersman.client import tree
from steersman.controllers.ephemeralvolume.controller import build
from steersman.controllers.ephemeralvolume.plan import ForeignClaim, is_missing, wanted_claims

CLAIM = ("v1", "PersistentVolumeClaim")
CLAIM_SPEC = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
TEMPLATE = {"metadata": {"labels": {"a": "1"}}, "spec": CLAIM_SPEC}
VOLUMES = [{"name": "v", "ephemeral": {"volumeClaimTemplate": TEMPLATE}}, {"name": "w", "emptyDir": {}}]


def pod(**metadata):
    metadata = {"name": "p", "namespace": "n", "uid": "1", **metadata}
    return msgspec.convert({"metadata": metadata, "spec": {"containers": [], "volumes": VOLUMES}}, Pod)


def test_claims_are_named_after_pod_and_volume_and_owned_by_the_pod():
    expected = wanted_claims(pod())
    assert list(expected) == ["v"]
    metadata = expected["v"].metadata
    assert (metadata.name, metadata.labels, metadata.ownerReferences[0].uid) == ("p-v", {"a": "1"}, "1")


def test_plan_creates_no_claim_for_a_terminating_pod():
    assert wanted_claims(pod(deletionTimestamp="2026-01-01T00:00:00Z")) == {}


def test_plan_reports_a_foreign_claim():
    claim = wanted_claims(pod())["v"]
    assert is_missing(pod(), claim, lambda _: None)
    assert not is_missing(pod(), claim, lambda _: claim)
    foreign = msgspec.convert({"metadata": {"name": "p-v", "namespace": "n"}}, PersistentVolumeClaim)
    with pytest.raises(ForeignClaim, match="was not created for pod n/p"):
        is_missing(pod(), claim, lambda _: foreign)


async def test_reconcile_creates_and_recreates_the_claim(cluster, pod_spec):
    controller = await cluster.start(build)
    await cluster.make("v1", "Pod", "p", namespace="default", spec={**pod_spec, "volumes": VOLUMES})
    first = await cluster.eventually(*CLAIM, "p-v", bool, namespace="default")
    await cluster.client.delete_object(first)
    await cluster.client.patch(tree(*CLAIM), "p-v", {"metadata": {"finalizers": None}}, namespace="default")
    uid = first["metadata"]["uid"]
    await cluster.eventually(*CLAIM, "p-v", lambda obj: obj and obj["metadata"]["uid"] != uid, namespace="default")
    assert cluster.sample(controller, "ephemeral_volume_controller_create_total") == 2
    assert cluster.sample(controller, "ephemeral_volume_controller_create_failures_total") == 0


async def test_reconcile_records_an_event_for_a_foreign_claim(cluster, pod_spec):
    await cluster.start(build)
    await cluster.make(*CLAIM, "p-v", namespace="default", spec=CLAIM_SPEC)
    await cluster.make("v1", "Pod", "p", namespace="default", spec={**pod_spec, "volumes": VOLUMES})
    await cluster.until(lambda: cluster.events("FailedBinding"))


async def test_reconcile_creates_the_claim_once_the_name_is_free(cluster, pod_spec):
    await cluster.start(build)
    foreign = await cluster.make(*CLAIM, "p-v", namespace="default", spec=CLAIM_SPEC)
    await cluster.make("v1", "Pod", "p", namespace="default", spec={**pod_spec, "volumes": VOLUMES})
    await cluster.clock.advance(60)  # by now the controller tries seldom
    await cluster.client.patch(tree(*CLAIM), "p-v", {"metadata": {"finalizers": None}}, namespace="default")
    await cluster.client.delete_object(foreign)
    await cluster.eventually(*CLAIM, "p-v", bool, namespace="default", within_seconds=1)
