"""Verification of ID tokens."""

import json
from datetime import UTC, datetime

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from steersman.apiserver.authn import jws
from steersman.apiserver.authn.id_token_verifier import IDTokenVerifier, issuer_of
from steersman.apiserver.authn.interface import InvalidCredentials
from steersman.apiserver.authn.keys import PrivateKey
from steersman.asynckit.clock import FakeClock

URL = "https://idp"
NOW = datetime(2030, 1, 1, tzinfo=UTC)
KEY = PrivateKey(rsa.generate_private_key(public_exponent=65537, key_size=2048))


async def fetch(url, *, token=""):
    assert not token
    if url.endswith("/keys"):
        return json.dumps({"keys": [KEY.jwk()]}).encode()
    return json.dumps({"issuer": URL, "jwks_uri": f"{URL}/keys"}).encode()


def verified(**claims):
    verifier = IDTokenVerifier(URL, fetch, audiences=("kube",), signing_algs=("RS256",), clock=FakeClock(NOW))
    token = KEY.sign({"iss": URL, "aud": "kube", "exp": NOW.timestamp(), **claims})
    return verifier.verified(token, jws.read_unverified(token).header)


async def test_verified_returns_the_claims():
    assert (await verified(sub="alice"))["sub"] == "alice"


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        ({"iss": "https://other"}, "oidc: verify token: oidc: id token issued by a different provider"),
        ({"aud": 7}, 'oidc: verify token: oidc: expected audience in ["kube"] got []'),
    ],
)
async def test_verified_raises_for_tokens_of_others(claims, message):
    with pytest.raises(InvalidCredentials) as refused:
        await verified(**claims)
    assert str(refused.value) == message


def test_issuer_of_completes_googles():
    assert issuer_of({"iss": "accounts.google.com"}) == "https://accounts.google.com"
    assert issuer_of({"iss": URL}) == URL
    assert issuer_of({}) is None
