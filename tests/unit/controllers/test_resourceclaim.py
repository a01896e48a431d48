import msgspec
import pytest
from lightkube.models.core_v1 import Pod
from lightkube.models.resource_v1 import ResourceClaim, ResourceClaimTemplate

from steersman.client import tree
from steersman.client.errors import RequestFailed
from steersman.controllers.resourceclaim.controller import build
from steersman.controllers.resourceclaim.plan import (
    FINALIZER,
    MissingClaim,
    find_created_claim,
    from_template,
    is_done,
    is_for_other,
    is_leftover,
    missing,
    owning_pod,
    reserved,
    status_patch,
    without_consumers,
    without_protection,
)

CLAIM = ("resource.k8s.io/v1", "ResourceClaim")
TEMPLATE = ("resource.k8s.io/v1", "ResourceClaimTemplate")
DEVICES = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}
FROM_TEMPLATE = {"name": "dev", "resourceClaimTemplateName": "t"}


def pod(*, node="", phase="Pending", created_claim=None, name="p", entry=FROM_TEMPLATE, **metadata):
    rows = (
        [{"name": "dev", **({"resourceClaimName": created_claim} if created_claim else {})}]
        if created_claim is not None
        else []
    )
    body = {
        "metadata": {"name": name, "namespace": "n", "uid": "1", **metadata},
        "spec": {"containers": [], "nodeName": node or None, "resourceClaims": [entry]},
        "status": {"phase": phase, "resourceClaimStatuses": rows},
    }
    return msgspec.convert(body, Pod)


def claim(*, owner="1", consumers=(), allocated=False, finalizers=(), **metadata):
    reference = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": owner, "controller": True}
    metadata |= {"name": "c", "namespace": "n", "finalizers": list(finalizers)}
    if owner:
        metadata["ownerReferences"] = [reference]
    status = {"reservedFor": [{"resource": "pods", "name": "p", "uid": uid} for uid in consumers] or None}
    if allocated:
        status["allocation"] = {}
    return msgspec.convert({"metadata": metadata, "spec": {}, "status": status}, ResourceClaim)


DELETED = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("obj", "done"),
    [(pod(), False), (pod(phase="Failed"), True), (pod(**DELETED), True), (pod(node="n", **DELETED), False)],
)
def test_is_done(obj, done):
    assert is_done(obj) is done


@pytest.mark.parametrize(
    ("obj", "present", "expected"),
    [
        (pod(), None, [MissingClaim("dev", "t")]),
        (pod(created_claim="c"), None, [MissingClaim("dev", "t")]),
        (pod(created_claim="c"), claim(), []),
        (pod(created_claim="c"), claim(owner="2"), [MissingClaim("dev", "t")]),
        (pod(created_claim=""), None, []),
        (pod(entry={"name": "dev", "resourceClaimName": "mine"}), None, []),
    ],
)
def test_missing_claims_are_created_once(obj, present, expected):
    assert missing(obj, lambda _: present) == expected


def test_from_template_builds_a_claim_that_find_created_claim_returns():
    body = {"spec": {"metadata": {"labels": {"a": "1"}, "annotations": {"b": "2"}}, "spec": DEVICES}}
    created_claim = from_template(pod(), "dev", msgspec.convert(body, ResourceClaimTemplate))
    assert created_claim.metadata.generateName == "p-dev-"
    assert created_claim.metadata.annotations == {"b": "2", "resource.kubernetes.io/pod-claim-name": "dev"}
    assert find_created_claim(pod(), "dev", [created_claim]) is created_claim
    assert find_created_claim(pod(uid="2"), "dev", [created_claim]) is None


def test_long_names_are_truncated_in_proportion():
    template = msgspec.convert({"spec": {"spec": {}}}, ResourceClaimTemplate)
    created_claim = from_template(pod(name="p" * 60), "d" * 60, template)
    assert created_claim.metadata.generateName == f"{'p' * 28}-{'d' * 28}-"


def test_status_patch_keeps_existing_claims():
    rows = status_patch(pod(created_claim="old"), {"more": "new"})["status"]["resourceClaimStatuses"]
    assert rows == [{"name": "dev", "resourceClaimName": "old"}, {"name": "more", "resourceClaimName": "new"}]


@pytest.mark.parametrize(
    ("of", "obj", "reserves"),
    [
        (claim(allocated=True), pod(node="n"), True),
        (claim(allocated=True), pod(), False),
        (claim(), pod(node="n"), False),
        (claim(allocated=True, consumers=["1"]), pod(node="n"), False),
        (claim(allocated=True, consumers=[str(number) for number in range(2, 258)]), pod(node="n"), False),
    ],
)
def test_reserved_for_a_pod_bound_without_scheduler(of, obj, reserves):
    assert (reserved(of, obj) is not None) is reserves


def test_freed_deallocates_without_consumers():
    obj = claim(allocated=True, consumers=["1", "2"], finalizers=[FINALIZER])
    one, two = obj.status.reservedFor
    half = without_consumers(obj, [one])
    assert half.status.allocation is not None
    assert without_protection(half) is None
    whole = without_consumers(half, [two])
    assert (whole.status.allocation, whole.status.reservedFor) == (None, None)
    assert without_protection(whole).metadata.finalizers == []


def test_freed_keeps_allocations_of_other_controllers():
    obj = claim(allocated=True, consumers=["1"])
    assert without_consumers(obj, obj.status.reservedFor).status.allocation is not None


def test_unreserved_deleted_claim_is_deallocated():
    obj = claim(allocated=True, finalizers=[FINALIZER], **DELETED)
    assert without_consumers(obj, []).status.allocation is None
    assert without_consumers(claim(allocated=True, finalizers=[FINALIZER]), []) is None


def test_claims_of_finished_pods_are_deleted():
    assert is_leftover(claim(), pod(phase="Succeeded"))
    assert not is_leftover(claim(), pod())
    assert not is_leftover(claim(consumers=["1"]), pod(phase="Succeeded"))
    assert not is_leftover(claim(owner="2"), pod(phase="Succeeded"))
    assert owning_pod(claim()).name == "p"
    assert owning_pod(claim(owner="")) is None


def test_reservation_ends_with_its_pod():
    consumer = claim(consumers=["1"]).status.reservedFor[0]
    assert not is_for_other(pod(), consumer)
    assert is_for_other(pod(uid="2"), consumer)
    assert is_for_other(pod(phase="Failed"), consumer)


async def test_pod_waits_for_its_template(cluster, pod_spec):
    await cluster.start(build)
    await cluster.make("v1", "Pod", "p", namespace="default", spec={**pod_spec, "resourceClaims": [FROM_TEMPLATE]})
    await cluster.until(lambda: cluster.events("FailedResourceClaimCreation"))
    await cluster.make(*TEMPLATE, "t", namespace="default", spec={"spec": DEVICES})
    obj = await cluster.eventually(
        "v1", "Pod", "p", lambda obj: obj["status"].get("resourceClaimStatuses"), namespace="default"
    )
    name = obj["status"]["resourceClaimStatuses"][0]["resourceClaimName"]
    assert await cluster.find(*CLAIM, name, namespace="default")


async def test_reservation_is_removed_with_its_pod(cluster, pod_spec):
    await cluster.start(build)
    entry = {"name": "dev", "resourceClaimName": "c"}
    created_pod = await cluster.make(
        "v1", "Pod", "p", namespace="default", spec={**pod_spec, "resourceClaims": [entry]}
    )
    consumer = {"resource": "pods", "name": "p", "uid": created_pod["metadata"]["uid"]}
    result = {"request": "r", "driver": "d.example.com", "pool": "p", "device": "x"}
    status = {"allocation": {"devices": {"results": [result]}}, "reservedFor": [consumer]}
    metadata = {"finalizers": [FINALIZER]}
    await cluster.make(*CLAIM, "c", namespace="default", spec=DEVICES, metadata=metadata, status=status)
    await cluster.client.delete(tree("v1", "Pod"), "p", namespace="default", grace_period_seconds=0)

    def is_free(obj):
        return not obj["status"].get("allocation") and not obj["metadata"].get("finalizers")

    await cluster.eventually(*CLAIM, "c", is_free, namespace="default")


class Lossy:
    """A client whose first creation has effect, but whose answer does not arrive."""

    def __init__(self, client):
        self._client = client
        self.request_count = 0

    def __getattr__(self, name):
        return getattr(self._client, name)

    async def create(self, obj):
        self.request_count += 1
        created = await self._client.create(obj)
        if self.request_count == 1:
            raise RequestFailed("connection reset by peer")
        return created


async def test_claim_with_a_lost_create_response_is_not_created_twice(cluster, pod_spec):
    controller = await cluster.start(build)
    controller.client = client = Lossy(controller.client)
    await controller._claims.close()  # the cache is late
    await cluster.make(*TEMPLATE, "t", namespace="default", spec={"spec": DEVICES})
    await cluster.make("v1", "Pod", "p", namespace="default", spec={**pod_spec, "resourceClaims": [FROM_TEMPLATE]})
    await cluster.eventually(
        "v1", "Pod", "p", lambda obj: obj["status"].get("resourceClaimStatuses"), namespace="default"
    )
    assert (client.request_count, len(await cluster.client.list(tree(*CLAIM)))) == (1, 1)


async def test_finished_pod_loses_claims_missing_in_its_status(cluster, pod_spec):
    await cluster.start(build)
    await cluster.make(*TEMPLATE, "t", namespace="default", spec={"spec": DEVICES})
    expected = [FROM_TEMPLATE, {"name": "other", "resourceClaimTemplateName": "missing"}]
    await cluster.make("v1", "Pod", "p", namespace="default", spec={**pod_spec, "resourceClaims": expected})
    await cluster.until(lambda: cluster.client.list(tree(*CLAIM)))
    await cluster.client.patch(Pod, "p", {"status": {"phase": "Succeeded"}}, namespace="default", subresource="status")

    async def none_remains():
        return not await cluster.client.list(tree(*CLAIM))

    await cluster.until(none_remains)


async def test_finished_pod_loses_its_extended_resource_claim(cluster, pod_spec):
    await cluster.start(build)
    created_pod = await cluster.make("v1", "Pod", "p", namespace="default", spec=pod_spec)
    uid = created_pod["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": uid, "controller": True}
    metadata = {"finalizers": [FINALIZER], "ownerReferences": [owner]}
    result = {"request": "r", "driver": "d.example.com", "pool": "p", "device": "x"}
    consumer = {"resource": "pods", "name": "p", "uid": uid}
    status = {"allocation": {"devices": {"results": [result]}}, "reservedFor": [consumer]}
    await cluster.make(*CLAIM, "c", namespace="default", spec=DEVICES, metadata=metadata, status=status)
    await cluster.client.patch(Pod, "p", {"status": {"phase": "Succeeded"}}, namespace="default", subresource="status")

    async def is_deleted():
        return not await cluster.client.list(tree(*CLAIM))

    await cluster.until(is_deleted)
