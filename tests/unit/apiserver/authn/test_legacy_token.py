"""Tokens of service accounts that lie in Secrets."""

import base64

import pytest

from steersman.apiserver.authn import jws
from steersman.apiserver.authn.interface import InvalidCredentials
from steersman.apiserver.authn.legacy_token import LegacyTokens
from steersman.apiserver.authn.service_account import Found

from .test_service_account import Objects, Ring

CLAIMS = {
    "iss": "kubernetes/serviceaccount",
    "sub": "system:serviceaccount:ns:robot",
    "kubernetes.io/serviceaccount/namespace": "ns",
    "kubernetes.io/serviceaccount/secret.name": "s",
    "kubernetes.io/serviceaccount/service-account.name": "robot",
    "kubernetes.io/serviceaccount/service-account.uid": "u1",
}


class World:
    def __init__(self):
        self.ring, self.objects = Ring(), Objects()
        self.token = jws.make(CLAIMS, self.ring.key)
        self.stored = {"metadata": {}, "data": {"token": base64.b64encode(self.token.encode()).decode()}}
        self.tokens = LegacyTokens(self.ring, self.objects, self, audiences=("api",))

    async def secret(self, namespace, name):
        return self.stored if (namespace, name) == ("ns", "s") else None


@pytest.fixture
def world():
    return World()


async def test_a_token_names_its_account(world):
    user = await world.tokens.authenticate_token(world.token)
    assert (user.name, user.uid, user.extra) == ("system:serviceaccount:ns:robot", "u1", {})
    assert (await world.tokens.review(world.token, ("api",))).user.name == user.name
    assert await world.tokens.review(world.token, ("other",)) is None


async def test_tokens_of_other_issuers_are_none_of_ours(world):
    for text in ("opaque", "a.b.c", jws.make({**CLAIMS, "iss": "other"}, world.ring.key)):
        assert await world.tokens.authenticate_token(text) is None


@pytest.mark.parametrize(
    "change",
    [
        lambda w: setattr(w, "stored", None),
        lambda w: w.stored["metadata"].update(deletionTimestamp="2030-01-01T00:00:00Z"),
        lambda w: w.stored["metadata"].update(labels={"kubernetes.io/legacy-token-invalid-since": "2030-01-01"}),
        lambda w: w.stored.update(data={"token": "YWJj"}),
        lambda w: w.stored.update(data=None),
        lambda w: w.objects.found.clear(),
        lambda w: w.objects.found.update({("ServiceAccount", "ns", "robot"): Found("u2")}),
        lambda w: w.objects.found.update({("ServiceAccount", "ns", "robot"): Found("u1", 1.0)}),
        lambda w: setattr(w.ring.key, "sign", lambda signed: b"x" * 32),
    ],
)
async def test_a_token_ends_with_its_secret_and_its_account(world, change):
    change(world)
    with pytest.raises(InvalidCredentials):
        await world.tokens.authenticate_token(world.token)


@pytest.mark.parametrize("name", [name for name in CLAIMS if name != "iss"])
async def test_no_claim_may_be_missing(world, name):
    claims = {key: value for key, value in CLAIMS.items() if key != name}
    with pytest.raises(InvalidCredentials):
        await world.tokens.authenticate_token(jws.make(claims, world.ring.key))
