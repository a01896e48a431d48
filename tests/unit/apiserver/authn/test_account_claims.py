"""Claims of service account tokens."""

import msgspec
import pytest

from steersman.apiserver.authn.account_claims import Bound, Ref, new_claims, read_claims


def test_new_claims_match_upstream():
    bound = Bound("ns", Ref("robot", "u1"), pod=Ref("p", "u2"), node=Ref("n"), warnafter=7)
    claims = new_claims(bound, issuer="i", audiences=("a", "b"), now_seconds=100, life_seconds=60, jti="j")
    assert claims == {
        "aud": ["a", "b"],
        "exp": 160,
        "iat": 100,
        "iss": "i",
        "jti": "j",
        "kubernetes.io": {
            "namespace": "ns",
            "serviceaccount": {"name": "robot", "uid": "u1"},
            "pod": {"name": "p", "uid": "u2"},
            "node": {"name": "n"},
            "warnafter": 7,
        },
        "nbf": 100,
        "sub": "system:serviceaccount:ns:robot",
    }
    assert read_claims(claims).bound == bound


def test_audiences_accepts_string():
    assert read_claims({"aud": "a"}).audiences == ("a",)
    assert read_claims({}).audiences == ()


@pytest.mark.parametrize("claims", [{"exp": "soon"}, {"aud": 7}, {"kubernetes.io": {"serviceaccount": "x"}}])
def test_read_claims_rejects_wrong_types(claims):
    with pytest.raises(msgspec.ValidationError):
        read_claims(claims)
