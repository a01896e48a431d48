"""Tokens of an OpenID Connect provider."""

import json
from datetime import UTC, datetime

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from steersman.apiserver.authn.interface import InvalidCredentials
from steersman.apiserver.authn.keys import PrivateKey
from steersman.apiserver.authn.oidc import OIDCOptions, OIDCTokens
from steersman.asynckit.clock import FakeClock

URL = "https://idp.example.com"
NOW = datetime(2030, 1, 1, tzinfo=UTC)
CLAIMS = {"iss": URL, "aud": "kube", "exp": NOW.timestamp() + 600, "sub": "alice", "email": "a@example.com"}
KEY = PrivateKey(rsa.generate_private_key(public_exponent=65537, key_size=2048))


class Provider:
    def __init__(self, *keys):
        self.keys, self.request_count, self.documents = list(keys), 0, {}

    async def fetch(self, url):
        self.request_count += 1
        if url in self.documents:
            return self.documents[url]
        if url.endswith("/openid-configuration"):
            return json.dumps({"issuer": URL, "jwks_uri": f"{URL}/keys"}).encode()
        return json.dumps({"keys": [key.jwk() for key in self.keys]}).encode()


class World:
    def __init__(self, **options):
        self.clock = FakeClock(NOW)
        self.provider = Provider(KEY)
        options = OIDCOptions(issuer_url=URL, client_id="kube", **options)
        self.tokens = OIDCTokens(options, self.provider.fetch, audiences=("api",), clock=self.clock)

    async def user(self, key=KEY, **claims):
        return await self.tokens.authenticate_token(key.sign({**CLAIMS, **claims}))

    async def refusal(self, key=KEY, **claims):
        with pytest.raises(InvalidCredentials) as refused:
            await self.user(key, **claims)
        return str(refused.value)


async def test_authenticate_token_returns_user_of_issuer():
    user = await World().user(jti="j")
    assert (user.name, user.groups) == (f"{URL}#alice", ())
    assert user.extra == {"authentication.kubernetes.io/credential-id": ("JTI=j",)}


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"username_prefix": "idp:"}, "idp:alice"),
        ({"username_prefix": "-"}, "alice"),
        ({"username_claim": "email"}, "a@example.com"),
        ({"username_claim": "email", "username_prefix": "m:"}, "m:a@example.com"),
    ],
)
async def test_username_has_claim_and_prefix(options, name):
    assert (await World(**options).user()).name == name


@pytest.mark.parametrize(("claim", "groups"), [("ops", ("g:ops",)), (["a", "b"], ("g:a", "g:b")), (None, ()), ([], ())])
async def test_groups_claim_may_be_string_or_list(claim, groups):
    assert (await World(groups_claim="roles", groups_prefix="g:").user(roles=claim)).groups == groups


@pytest.mark.parametrize(
    ("options", "claims", "message"),
    [
        ({}, {"aud": "other"}, "not for this client"),
        ({}, {"aud": ["x", "y"]}, "not for this client"),
        ({}, {"exp": NOW.timestamp() - 1}, "expired"),
        ({}, {"exp": None}, "expired"),
        ({}, {"nbf": NOW.timestamp() + 301}, "not valid yet"),
        ({}, {"sub": ""}, "names no user"),
        ({}, {"sub": 7}, "names no user"),
        ({"username_claim": "email"}, {"email_verified": False}, "not verified"),
        ({"groups_claim": "roles"}, {"roles": [1]}, "names no groups"),
        ({"required_claims": {"team": "blue"}}, {"team": "red"}, "required claim"),
        ({"signing_algs": ("ES256",)}, {}, "signature"),
    ],
)
async def test_authenticate_token_raises_for_invalid_token(options, claims, message):
    assert message in await World(**options).refusal(**claims)


async def test_authenticate_token_returns_none_for_other_issuers():
    world = World()
    assert await world.user(iss="https://other") is None
    assert await world.tokens.authenticate_token("opaque") is None
    assert await world.tokens.authenticate_token("a.b.c") is None
    assert world.provider.request_count == 0


async def test_keys_are_refreshed_with_rate_limit():
    world = World()
    other = PrivateKey(rsa.generate_private_key(public_exponent=65537, key_size=2048))
    assert "signature" in await world.refusal(other)
    assert "signature" in await world.refusal(other)
    assert world.provider.request_count == 2
    world.provider.keys.append(other)
    await world.clock.advance(10)
    assert (await world.user(other)).name.endswith("#alice")
    assert world.provider.request_count == 4
    assert await world.user() is not None
    assert world.provider.request_count == 4


async def test_elliptic_keys_are_accepted_when_listed():
    key = PrivateKey(ec.generate_private_key(ec.SECP256R1()))
    world = World(signing_algs=("ES256",))
    world.provider.keys = [key]
    assert await world.user(key) is not None


@pytest.mark.parametrize(
    "document", [b"nonsense", b"[]", b'{"issuer":"https://evil"}', b'{"issuer":"https://idp.example.com"}']
)
async def test_authenticate_token_raises_for_unusable_provider(document, caplog):
    world = World()
    world.provider.documents[f"{URL}/.well-known/openid-configuration"] = document
    assert "signature" in await world.refusal()
    assert "cannot get the keys" in caplog.text


async def test_review_returns_none_for_other_audiences():
    world = World()
    token = KEY.sign(CLAIMS)
    assert (await world.tokens.review(token, ("api",))).audiences == ("api",)
    assert await world.tokens.review(token, ("kube",)) is None
