"""Tokens of OpenID Connect providers."""

import json
from datetime import UTC, datetime

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from steersman.apiserver.authn.authentication_configuration import (
    ClaimMappings,
    Issuer,
    JWTAuthenticatorConfig,
    PrefixedClaimOrExpression,
)
from steersman.apiserver.authn.claim_mapping import ClaimMapper, CompiledExpressions
from steersman.apiserver.authn.interface import InvalidCredentials
from steersman.apiserver.authn.jwt_metrics import JWTMetrics
from steersman.apiserver.authn.keys import PrivateKey
from steersman.apiserver.authn.oidc import JWTAuthenticator, JWTAuthenticators
from steersman.asynckit.clock import FakeClock

URL = "https://idp.example.com"
NOW = datetime(2030, 1, 1, tzinfo=UTC)
CLAIMS = {"iss": URL, "aud": "kube", "exp": NOW.timestamp() + 600, "sub": "alice"}
KEY = PrivateKey(rsa.generate_private_key(public_exponent=65537, key_size=2048))
OTHER_KEY = PrivateKey(rsa.generate_private_key(public_exponent=65537, key_size=2048))
SIGNATURE = "oidc: verify token: failed to verify signature: failed to verify id token signature"


class Provider:
    def __init__(self, issuer):
        self.issuer, self.keys, self.requests, self.tokens, self.documents = issuer, [KEY], [], [], {}

    async def fetch(self, url, *, token=""):
        self.requests.append(url)
        self.tokens.append(token)
        document = self.documents.get(url)
        if isinstance(document, Exception):
            raise document
        if document is not None:
            return document
        if url.endswith("/openid-configuration"):
            return json.dumps({"issuer": self.issuer, "jwks_uri": f"{self.issuer}/keys"}).encode()
        return json.dumps({"keys": [key.jwk() for key in self.keys]}).encode()


class World:
    def __init__(self, *, signing_algs=("RS256",), url=URL, groups_claim="", **issuer):
        self.clock, self.metrics, self.provider = FakeClock(NOW), JWTMetrics(), Provider(url)
        config = JWTAuthenticatorConfig(
            issuer=Issuer(url=url, **{"audiences": ("kube",), **issuer}),
            claim_mappings=ClaimMappings(
                username=PrefixedClaimOrExpression(claim="sub", prefix="idp:"),
                groups=PrefixedClaimOrExpression(claim=groups_claim, prefix="g:"),
            ),
        )
        self.authenticator = JWTAuthenticator(
            config,
            ClaimMapper(config, CompiledExpressions()),
            self.provider.fetch,
            signing_algs=signing_algs,
            clock=self.clock,
            metrics=self.metrics,
        )
        self.tokens = JWTAuthenticators([self.authenticator], audiences=("api",))

    async def user(self, key=KEY, **claims):
        return await self.tokens.authenticate_token(key.sign({**CLAIMS, **claims}))

    async def refusal(self, key=KEY, **claims):
        with pytest.raises(InvalidCredentials) as refused:
            await self.user(key, **claims)
        return str(refused.value)


async def test_authenticate_token_returns_the_mapped_user():
    world = World()
    assert (await world.user()).name == "idp:alice"
    assert world.provider.requests == [f"{URL}/.well-known/openid-configuration", f"{URL}/keys"]


async def test_discovery_url_replaces_the_well_known_one():
    world = World(discovery_url="https://inside/openid")
    world.provider.documents["https://inside/openid"] = json.dumps(
        {"issuer": URL, "jwks_uri": "https://inside/keys"}
    ).encode()
    assert await world.user() is not None
    assert world.provider.requests == ["https://inside/openid", "https://inside/keys"]


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        ({"aud": "other"}, 'oidc: verify token: oidc: expected audience in ["kube"] got ["other"]'),
        ({"aud": ["x", "y"]}, 'oidc: verify token: oidc: expected audience in ["kube"] got ["x" "y"]'),
        ({"aud": None}, 'oidc: verify token: oidc: expected audience in ["kube"] got []'),
        (
            {"exp": NOW.timestamp() - 1},
            "oidc: verify token: oidc: token is expired (Token Expiry: 2029-12-31 23:59:59 +0000 UTC)",
        ),
        ({"exp": None}, "oidc: verify token: oidc: token is expired (Token Expiry: 0001-01-01 00:00:00 +0000 UTC)"),
        ({"exp": True}, "oidc: verify token: oidc: token is expired (Token Expiry: 0001-01-01 00:00:00 +0000 UTC)"),
        ({"exp": -1e30}, "oidc: verify token: oidc: token is expired (Token Expiry: -1e+30)"),
        (
            {"nbf": NOW.timestamp() + 301},
            (
                "oidc: verify token: oidc: current time 2030-01-01 00:00:00 +0000 UTC before the nbf (not before) time:"
                " 2030-01-01 00:05:01 +0000 UTC"
            ),
        ),
        ({"sub": ""}, "oidc: the username is empty"),
    ],
)
async def test_authenticate_token_raises_for_invalid_claims(claims, message):
    assert await World().refusal(**claims) == message


async def test_one_of_several_audiences_suffices():
    world = World(audiences=("kube", "tools"))
    assert await world.user(aud=["x", "tools"]) is not None
    assert 'expected audience in ["kube" "tools"] got ["x"]' in await world.refusal(aud="x")


async def test_not_before_has_leeway():
    assert await World().user(nbf=NOW.timestamp() + 299) is not None


async def test_authenticate_token_raises_for_other_algorithms():
    assert await World(signing_algs=("ES256",)).refusal() == (
        'oidc: verify token: oidc: id token signed with unsupported algorithm, expected ["ES256"] got "RS256"'
    )


async def test_authenticate_token_returns_none_for_other_issuers():
    world = World()
    assert await world.user(iss="https://other") is None
    assert await world.user(iss=["https://other"]) is None
    assert await world.tokens.authenticate_token("opaque") is None
    assert await world.tokens.authenticate_token("a.b.c") is None
    assert world.provider.requests == []
    assert world.metrics.latencies == {}


async def test_google_may_omit_the_scheme():
    world = World(url="https://accounts.google.com")
    assert (await world.user(iss="accounts.google.com")).name == "idp:alice"


async def test_authenticators_are_selected_by_issuer():
    one, two = World(), World(url="https://two")
    tokens = JWTAuthenticators([one.authenticator, two.authenticator], audiences=("api",))
    assert await tokens.authenticate_token(KEY.sign({**CLAIMS, "iss": "https://two"})) is not None
    assert one.provider.requests == []
    tokens.replace([one.authenticator])
    assert tokens.issuers == {URL}
    assert await tokens.authenticate_token(KEY.sign({**CLAIMS, "iss": "https://two"})) is None
    assert await tokens.authenticate_token(KEY.sign(CLAIMS)) is not None


async def test_keys_are_refreshed_with_rate_limit():
    world = World()
    assert await world.refusal(OTHER_KEY) == SIGNATURE
    assert await world.refusal(OTHER_KEY) == SIGNATURE
    assert len(world.provider.requests) == 2
    world.provider.keys.append(OTHER_KEY)
    await world.clock.advance(10)
    assert (await world.user(OTHER_KEY)).name.endswith("alice")
    assert len(world.provider.requests) == 4
    assert await world.user() is not None
    assert len(world.provider.requests) == 4


async def test_elliptic_keys_are_accepted_when_listed():
    key = PrivateKey(ec.generate_private_key(ec.SECP256R1()))
    world = World(signing_algs=("ES256",))
    world.provider.keys = [key]
    assert await world.user(key) is not None


@pytest.mark.parametrize(
    "document",
    [b"nonsense", b"[]", b'{"issuer":"https://evil"}', b'{"issuer":"https://idp.example.com"}', TimeoutError("slow")],
)
async def test_authenticate_token_raises_for_unusable_provider(document, caplog):
    world = World()
    world.provider.documents[f"{URL}/.well-known/openid-configuration"] = document
    assert await world.refusal() == SIGNATURE
    assert "cannot get the keys" in caplog.text
    assert world.metrics.fetched == {("failure", URL): NOW.timestamp()}
    assert world.metrics.key_sets == {}


async def test_unreachable_provider_keeps_the_last_keys():
    world = World()
    await world.user()
    world.provider.documents[f"{URL}/keys"] = OSError("unreachable")
    await world.clock.advance(10)
    assert await world.refusal(OTHER_KEY) == SIGNATURE
    assert await world.user() is not None


async def test_initialize_raises_for_an_unusable_provider():
    world = World()
    world.provider.documents[f"{URL}/keys"] = b"{}"
    with pytest.raises(OSError, match="KeyError: 'keys'"):
        await world.authenticator.initialize()


async def test_distributed_groups_are_fetched():
    world = World(groups_claim="roles")
    sources = {"s": {"endpoint": f"{URL}/roles", "access_token": "secret"}}
    world.provider.documents[f"{URL}/roles"] = KEY.sign({**CLAIMS, "roles": ["ops"]}).encode()
    user = await world.user(_claim_names={"roles": "s"}, _claim_sources=sources)
    assert user.groups == ("g:ops",)
    assert world.provider.tokens[world.provider.requests.index(f"{URL}/roles")] == "secret"
    assert (await world.user(roles="dev", _claim_names={"roles": "s"})).groups == ("g:dev",)
    assert "could not expand distributed claims: oidc: no claim sources" in await world.refusal(
        _claim_names={"roles": "s"}
    )


async def test_metrics_count_authentications_and_fetches():
    world = World()
    await world.user()
    await world.refusal(aud="x")
    assert {key: latency.count for key, latency in world.metrics.latencies.items()} == {
        ("success", URL): 1,
        ("failure", URL): 1,
    }
    assert world.metrics.fetched == {("success", URL): NOW.timestamp()}
    assert b'"keys"' in world.metrics.key_sets[URL]
    world.metrics.forget(URL)
    assert world.metrics.fetched == world.metrics.key_sets == {}


async def test_review_returns_none_for_other_audiences():
    world = World()
    token = KEY.sign(CLAIMS)
    assert (await world.tokens.review(token, ("api",))).audiences == ("api",)
    assert await world.tokens.review(token, ("kube",)) is None
