import msgspec
import pytest
from lightkube.models.core_v1 import Pod
from lightkube.models.resource_v1 import ResourceClaim

from steersman.workloads.resource_claims import claim_name, claim_names, claims_in_use, consumers, entries, is_pod

FROM_TEMPLATE = {"name": "dev", "resourceClaimTemplateName": "t"}
NAMED = {"name": "dev", "resourceClaimName": "c"}


def pod(entry=FROM_TEMPLATE, *, obj=None):
    rows = [] if obj is None else [{"name": "dev", **({"resourceClaimName": obj} if obj else {})}]
    spec = {"containers": [], "resourceClaims": [entry]}
    return msgspec.convert(
        {"metadata": {"name": "p", "uid": "1"}, "spec": spec, "status": {"resourceClaimStatuses": rows}}, Pod
    )


def claim(*, owner="", reserved_for=("1",), resource="pods", group=""):
    rows = [{"apiGroup": group, "resource": resource, "name": "p", "uid": uid} for uid in reserved_for]
    metadata = {"name": "c", "uid": "9"}
    if owner:
        metadata["ownerReferences"] = [
            {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": owner, "controller": True}
        ]
    return msgspec.convert({"metadata": metadata, "spec": {}, "status": {"reservedFor": rows}}, ResourceClaim)


def test_claim_names_are_from_spec_or_status():
    assert claim_names(pod(NAMED)) == ["c"]
    assert claim_names(pod(obj="made")) == ["made"]
    assert claim_name(pod(), entries(pod())[0]) == (False, None)
    assert claim_name(pod(obj=""), entries(pod())[0]) == (True, None)


@pytest.mark.parametrize(
    ("of", "consumes"),
    [(claim(), True), (claim(resource="podgroups", group="scheduling.k8s.io"), False)],
)
def test_is_pod_is_false_for_other_consumers(of, consumes):
    assert [is_pod(consumer) for consumer in consumers(of)] == [consumes]


@pytest.mark.parametrize(
    ("obj", "of", "uses"),
    [
        (pod(NAMED), claim(), True),
        (pod(NAMED), claim(reserved_for=["2", "1"]), True),
        (pod(NAMED), claim(reserved_for=["2"]), False),
        (pod(NAMED), claim(resource="others"), False),
        (pod(NAMED), None, False),
        (pod(), claim(owner="1"), False),
        (pod(obj="c"), claim(owner="1"), True),
        (pod(obj="c"), claim(owner="2"), False),
        (pod(obj=""), claim(owner="1"), False),
    ],
)
def test_claims_in_use_requires_reservation_and_ownership(obj, of, uses):
    assert list(claims_in_use(obj, lambda _: of)) == ([of] if uses else [])
