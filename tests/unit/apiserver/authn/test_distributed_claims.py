"""Claims that are fetched from another document."""

import json
from datetime import UTC, datetime

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from steersman.apiserver.authn.distributed_claims import ClaimResolver
from steersman.apiserver.authn.interface import InvalidCredentials
from steersman.apiserver.authn.keys import PrivateKey
from steersman.asynckit.clock import FakeClock

NOW = datetime(2030, 1, 1, tzinfo=UTC)
KEY = PrivateKey(rsa.generate_private_key(public_exponent=65537, key_size=2048))
ENDPOINT = "https://claims/groups"
SOURCED = {"_claim_names": {"groups": "s"}, "_claim_sources": {"s": {"endpoint": ENDPOINT, "access_token": "t"}}}


class World:
    def __init__(self, bounds=None, **claims):
        self.clock, self.requests = FakeClock(NOW), []
        self.document = self.signed(**claims)
        self.resolver = ClaimResolver(
            "groups",
            self.fetch,
            audiences=("kube",),
            signing_algs=("RS256",),
            clock=self.clock,
            **(bounds or {}),
        )

    def signed(self, *, iss="https://idp", **claims):
        return KEY.sign({"iss": iss, "aud": "kube", "exp": NOW.timestamp() + 60, **claims}).encode()

    async def fetch(self, url, *, token=""):
        self.requests.append((url, token))
        if url == ENDPOINT:
            if isinstance(self.document, Exception):
                raise self.document
            return self.document
        if url.endswith("/keys"):
            return json.dumps({"keys": [KEY.jwk()]}).encode()
        issuer = url.removesuffix("/.well-known/openid-configuration")
        return json.dumps({"issuer": issuer, "jwks_uri": f"{issuer}/keys"}).encode()

    async def refusal(self, claims=None):
        with pytest.raises(InvalidCredentials) as refused:
            await self.resolver.expanded("token", SOURCED if claims is None else claims)
        prefix = "oidc: could not expand distributed claims: "
        assert str(refused.value).startswith(prefix)
        return str(refused.value).removeprefix(prefix)


async def test_claim_is_fetched_with_the_access_token_and_verified():
    world = World(groups=["a"])
    assert await world.resolver.expanded("token", SOURCED) == {**SOURCED, "groups": ["a"]}
    assert world.requests == [
        (ENDPOINT, "t"),
        ("https://idp/.well-known/openid-configuration", ""),
        ("https://idp/keys", ""),
    ]


@pytest.mark.parametrize(
    "claims",
    [
        {},
        {"groups": ["b"], **SOURCED},
        {**SOURCED, "_claim_names": {"other": "s"}},
        {**SOURCED, "_claim_sources": {"s": {"JWT": "aggregated"}}},
    ],
)
async def test_claims_without_a_source_of_the_claim_are_unchanged(claims):
    world = World(groups=["a"])
    assert await world.resolver.expanded("token", claims) == claims
    assert world.requests == []


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        ({"_claim_names": []}, "oidc: error parsing distributed claim names"),
        ({"_claim_names": {"groups": 1}}, "oidc: error parsing distributed claim names"),
        ({"_claim_names": {"groups": "s"}}, "oidc: no claim sources"),
        ({"_claim_names": {"groups": "s"}, "_claim_sources": []}, "oidc: could not parse claim sources"),
        (
            {"_claim_names": {"groups": "s"}, "_claim_sources": {"s": {"endpoint": 1}}},
            "oidc: could not parse claim sources",
        ),
        (
            {"_claim_names": {"groups": "s"}, "_claim_sources": {}},
            "id token _claim_names contained a source s missing in _claims_sources",
        ),
    ],
)
async def test_malformed_sources_reject_the_token(claims, message):
    assert await World().refusal(claims) == message


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (OSError("unreachable"), 'while getting distributed claim "groups": unreachable'),
        (b"nonsense", 'getting untrusted issuer from endpoint https://claims/groups failed for claim "groups": '),
        (b"\xff", 'getting untrusted issuer from endpoint https://claims/groups failed for claim "groups": '),
    ],
)
async def test_unusable_documents_reject_the_token(document, message):
    world = World()
    world.document = document
    assert (await world.refusal()).startswith(message)


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        ({}, 'jwt returned by distributed claim endpoint "https://claims/groups" did not contain claim: groups'),
        ({"groups": "a", "aud": "x"}, 'verify distributed claim token: oidc: expected audience in ["kube"] got ["x"]'),
        (
            {"groups": "a", "exp": 0},
            "verify distributed claim token: oidc: token is expired (Token Expiry: 1970-01-01 00:00:00 +0000 UTC)",
        ),
        ({"groups": "a", "iss": ""}, "verifying untrusted issuer  failed"),
    ],
)
async def test_invalid_claims_reject_the_token(claims, message):
    assert await World(**claims).refusal() == message


async def test_claim_of_another_key_rejects_the_token():
    world = World()
    other = PrivateKey(rsa.generate_private_key(public_exponent=65537, key_size=2048))
    claims = {"iss": "https://idp", "aud": "kube", "exp": NOW.timestamp() + 60, "groups": ["a"]}
    world.document = other.sign(claims).encode()
    assert (await world.refusal()).startswith("verify distributed claim token: failed to verify signature")


async def test_fetched_claim_is_cached_for_seconds():
    world = World(groups=["a"])
    for _ in range(2):
        await world.resolver.expanded("token", SOURCED)
    await world.resolver.expanded("other", SOURCED)
    assert world.requests.count((ENDPOINT, "t")) == 2
    await world.clock.advance(10)
    await world.resolver.expanded("token", SOURCED)
    assert world.requests.count((ENDPOINT, "t")) == 3


async def test_cached_claims_and_issuers_are_bounded():
    world = World({"cached_max": 2, "issuers_max": 2})
    for number in (1, 2, 3, 1):
        world.document = world.signed(iss=f"https://idp{number}", groups=["a"])
        await world.resolver.expanded(f"token{number}", SOURCED)
    assert world.requests.count((ENDPOINT, "t")) == 4
    assert [url for url, _ in world.requests].count("https://idp1/keys") == 2
