import pytest

from steersman.runtime.claims import Claim, decide_claim

OURS = [{"uid": "us", "controller": True}]
THEIRS = [{"uid": "them", "controller": True}]
DELETED = "2026-01-01T00:00:00Z"


def obj(references=(), **metadata):
    return {"metadata": {"name": "p", "namespace": "ns", "ownerReferences": list(references), **metadata}}


def controller(**metadata):
    return {"metadata": {"name": "c", "namespace": "ns", "uid": "us", **metadata}}


@pytest.mark.parametrize(
    ("dependent", "owner", "matches", "claim"),
    [
        (obj(OURS), controller(), True, Claim.KEEP),
        (obj(OURS), controller(), False, Claim.RELEASE),
        (obj(OURS), controller(deletionTimestamp=DELETED), True, Claim.KEEP),
        (obj(OURS), controller(deletionTimestamp=DELETED), False, Claim.IGNORE),
        (obj(THEIRS), controller(), True, Claim.IGNORE),
        (obj(), controller(), True, Claim.ADOPT),
        (obj([{"uid": "us"}]), controller(), True, Claim.ADOPT),
        (obj(), controller(), False, Claim.IGNORE),
        (obj(), controller(deletionTimestamp=DELETED), True, Claim.IGNORE),
        (obj(deletionTimestamp=DELETED), controller(), True, Claim.IGNORE),
        (obj(namespace="other"), controller(), True, Claim.IGNORE),
        (obj(), controller(namespace=""), True, Claim.ADOPT),
    ],
    ids=[
        "ours", "ours-unmatched", "ours-while-deleted", "ours-unmatched-while-deleted", "theirs", "orphan",
        "mere-owner", "orphan-unmatched", "orphan-while-deleted", "orphan-being-deleted", "other-namespace",
        "cluster-scoped-controller",
    ],
)  # fmt: skip
def test_decide_claim_of_each_case(dependent, owner, matches, claim):
    assert decide_claim(dependent, owner, matches=matches) is claim
