"""Issuing of tokens."""

from datetime import UTC, datetime

from steersman.apiserver.authn import jws
from steersman.apiserver.authn.account_claims import Bound, Ref
from steersman.apiserver.authn.token_issuer import TokenIssuer

from .test_service_account import Ring


async def test_issue_creates_unique_token_ids():
    issuer = TokenIssuer(Ring(), issuer="i", audiences=("a",))
    now = datetime(2030, 1, 1, tzinfo=UTC)
    bound = Bound("ns", Ref("robot", "u"))
    created = [
        jws.read_unverified(await issuer.issue(bound, audiences=("x",), now=now, life_seconds=60)) for _ in range(2)
    ]
    assert created[0].claims["jti"] != created[1].claims["jti"]
    assert created[0].claims["exp"] - created[0].claims["iat"] == 60
    assert (created[0].claims["aud"], issuer.audiences) == (["x"], ("a",))
