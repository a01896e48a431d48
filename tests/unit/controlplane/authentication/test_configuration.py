"""Configuration of JWT authenticators and anonymous requests, from a file and from flags."""

import asyncio
import base64
import json
import re
from pathlib import Path

import pytest
import yaml
from cryptography.hazmat.primitives.asymmetric import rsa
from tests.unit.apiserver.webhooks.servers import WebhookServer, ca_bundle, http_response

from steersman.apiserver.authn.authentication_configuration import (
    ClaimMappings,
    ClaimValidationRule,
    Issuer,
    JWTAuthenticatorConfig,
    PrefixedClaimOrExpression,
)
from steersman.apiserver.authn.interface import InvalidCredentials
from steersman.apiserver.authn.keys import PrivateKey
from steersman.asynckit.clock import FakeClock, RealClock
from steersman.controlplane.authentication.configuration import (
    ConfiguredAuthentication,
    oidc_configuration,
    read_configuration,
)
from steersman.controlplane.option_checks import check_options
from steersman.controlplane.options import APIServerOptions, OptionError
from steersman.testing import InProcessAPIServer

KEY = PrivateKey(rsa.generate_private_key(public_exponent=65537, key_size=2048))
REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


def jwt(url, *, username=None, **issuer):
    return {
        "issuer": {"url": url, "audiences": ["kube"], **issuer},
        "claimMappings": {"username": username or {"claim": "sub", "prefix": ""}},
    }


def text_of(*authenticators, **more):
    kind = {"kind": "AuthenticationConfiguration", "apiVersion": "apiserver.config.k8s.io/v1beta1"}
    return yaml.safe_dump({**kind, "jwt": list(authenticators), **more})


class Providers:
    """Documents of all issuers, without a network."""

    def __init__(self):
        self.is_down = False
        self.authorities = []

    def make_fetch(self, authorities):
        self.authorities.append(authorities)
        return self.fetch

    async def fetch(self, url, *, token=""):
        assert not token
        if self.is_down:
            raise OSError("unreachable")
        issuer = url.removesuffix("/.well-known/openid-configuration")
        if issuer != url:
            return json.dumps({"issuer": issuer, "jwks_uri": f"{issuer}/keys"}).encode()
        return json.dumps({"keys": [KEY.jwk()]}).encode()


class World:
    def __init__(self, path, text, **options):
        path.write_text(text)
        self.path, self.clock, self.providers = path, FakeClock(), Providers()
        self.configured = ConfiguredAuthentication(
            APIServerOptions(authentication_config=path, **options),
            audiences=("api",),
            clock=self.clock,
            make_fetch=self.providers.make_fetch,
        )

    async def rewrite(self, text):
        self.path.write_text(text)
        await self.configured.reload.poll()

    async def user(self, issuer, **claims):
        claims = {"iss": issuer, "aud": "kube", "sub": "alice", "exp": self.clock.now().timestamp() + 60, **claims}
        user = await self.configured.tokens.authenticate_token(KEY.sign(claims))
        return None if user is None else user.name

    async def samples(self, name):
        return [
            (dict(labels), value)
            for family in await self.configured.collect()
            if family.name == f"apiserver_authentication_{name}"
            for _, labels, value in family.samples
        ]

    async def reloads(self):
        samples = await self.samples("config_controller_automatic_reloads_total")
        return {labels["status"]: value for labels, value in samples}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "authentication.yaml"


async def test_tokens_of_several_issuers_authenticate(path):
    world = World(path, text_of(jwt("https://a"), jwt("https://b", username={"expression": "'b:' + claims.sub"})))
    assert await world.user("https://a") == "alice"
    assert await world.user("https://b") == "b:alice"
    assert await world.user("https://c") is None
    latencies = await world.samples("jwt_authenticator_latency_seconds")
    assert sum(value for labels, value in latencies if labels.get("le") == "+Inf") == 2
    assert len(await world.samples("jwt_authenticator_jwks_fetch_last_timestamp_seconds")) == 2
    assert len(await world.samples("jwt_authenticator_jwks_fetch_last_key_set_info")) == 2


async def test_changed_file_replaces_the_authenticators(path):
    world = World(path, text_of())
    assert await world.user("https://a") is None
    await world.rewrite(text_of(jwt("https://a")))
    assert await world.user("https://a") == "alice"
    await world.rewrite(text_of(jwt("https://b")))
    assert await world.user("https://a") is None
    assert await world.user("https://b") == "alice"
    assert await world.reloads() == {"success": 2}
    [(labels, _)] = await world.samples("jwt_authenticator_jwks_fetch_last_key_set_info")
    assert labels["jwt_issuer_hash"].startswith("sha256:")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense", 'no kind "" is registered'),
        (text_of(jwt("http://a")), "jwt[0].issuer.url: Invalid value"),
        (text_of(jwt("https://kubernetes.default.svc")), "URL must not overlap with disallowed issuers"),
        (text_of(anonymous={"enabled": True}), "anonymous: Forbidden: changed from initial configuration file"),
    ],
)
async def test_invalid_change_leaves_the_last_configuration_in_use(path, text, message, caplog):
    world = World(path, text_of(jwt("https://a")))
    await world.rewrite(text)
    assert message in caplog.text
    assert await world.user("https://a") == "alice"
    await world.configured.reload.poll()
    assert await world.reloads() == {"failure": 1}


async def test_change_is_applied_when_all_providers_answer(path):
    world = World(path, text_of(jwt("https://a")))
    world.providers.is_down = True
    await world.rewrite(text_of(jwt("https://a"), jwt("https://b")))
    world.providers.is_down = False
    assert await world.user("https://b") is None
    await world.configured.reload.poll()
    assert await world.user("https://b") == "alice"
    assert await world.reloads() == {"failure": 1, "success": 1}


async def test_failed_change_leaves_no_request_behind(path):
    world = World(path, text_of())
    started, answered = asyncio.Event(), asyncio.Event()
    fetch = world.providers.fetch

    async def slow(url, *, token=""):
        if url.startswith("https://a"):
            raise OSError("unreachable")
        started.set()
        await answered.wait()
        return await fetch(url, token=token)

    world.providers.fetch = slow
    change = asyncio.create_task(world.rewrite(text_of(jwt("https://a"), jwt("https://b"))))
    await started.wait()
    await world.clock.advance(1)
    assert not change.done()
    answered.set()
    await change
    assert await world.reloads() == {"failure": 1}


async def test_unreachable_provider_refuses_its_tokens(path):
    world = World(path, text_of(jwt("https://a")))
    world.providers.is_down = True
    with pytest.raises(InvalidCredentials):
        await world.user("https://a")


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "empty config data"),
        (text_of(jwt("http://a")), {}, "invalid authentication configuration: jwt[0].issuer.url: Invalid value"),
        (
            text_of(jwt("https://me")),
            {"service_account_issuer": ("https://me",)},
            'jwt[0].issuer.url: Invalid value: "https://me": URL must not overlap with disallowed issuers: [https://me]',
        ),
        (
            text_of(anonymous={"enabled": False}),
            {"explicit_flags": ("anonymous_auth",)},
            ("anonymous: Forbidden: --anonymous-auth flag cannot be set when anonymous field is configured in authentication"
            " configuration file"),
        ),
        (text_of(anonymous={"enabled": False}), {"anonymous_auth": False}, "anonymous: Forbidden: --anonymous-auth flag"),
    ],
)  # fmt: skip
def test_invalid_file_is_an_option_error_that_names_it(path, text, options, message):
    path.write_text(text)
    with pytest.raises(OptionError) as refused:
        check_options(APIServerOptions(authentication_config=path, **options))
    assert str(refused.value).startswith(f"--authentication-config: {path}: ")
    assert message in str(refused.value)


def test_missing_file_is_an_option_error(path):
    with pytest.raises(OptionError, match="cannot read"):
        read_configuration(APIServerOptions(authentication_config=path))


@pytest.mark.parametrize("options", [{"oidc_username_claim": "email"}, {"explicit_flags": ("oidc_username_claim",)}])
def test_file_excludes_the_oidc_flags(path, options):
    path.write_text(text_of())
    with pytest.raises(OptionError, match="authentication-config file and oidc-\\* flags are mutually exclusive"):
        check_options(APIServerOptions(authentication_config=path, **options))


@pytest.mark.parametrize(
    ("options", "username", "groups"),
    [
        ({}, ("sub", "https://idp#"), ("", None)),
        ({"oidc_username_prefix": "-"}, ("sub", ""), ("", None)),
        ({"oidc_username_prefix": "x:", "oidc_groups_claim": "g"}, ("sub", "x:"), ("g", "")),
        ({"oidc_username_claim": "email", "oidc_groups_claim": "g", "oidc_groups_prefix": "y:"}, ("email", ""), ("g", "y:")),
    ],
)  # fmt: skip
def test_oidc_flags_are_an_authenticator(options, username, groups):
    flags = {"oidc_issuer_url": "https://idp", "oidc_client_id": "c", "oidc_required_claim": {"hd": "x"}, **options}
    assert oidc_configuration(APIServerOptions(**flags)).jwt == (
        JWTAuthenticatorConfig(
            issuer=Issuer(url="https://idp", audiences=("c",)),
            claim_validation_rules=(ClaimValidationRule(claim="hd", required_value="x"),),
            claim_mappings=ClaimMappings(
                username=PrefixedClaimOrExpression(*username), groups=PrefixedClaimOrExpression(*groups)
            ),
        ),
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"oidc_signing_algs": ("none",)}, "--oidc-signing-algs: .none. is not supported"),
        ({"oidc_issuer_url": "https://idp?x=1"}, "--oidc-issuer-url: .* URL must not contain a query"),
    ],
)
def test_invalid_oidc_flags_are_option_errors(options, message):
    with pytest.raises(OptionError, match=message):
        read_configuration(APIServerOptions(**{"oidc_issuer_url": "https://idp", "oidc_client_id": "c", **options}))


def test_oidc_ca_file_without_certificates_is_an_option_error(tmp_path):
    (tmp_path / "ca").write_text("nonsense")
    options = APIServerOptions(oidc_issuer_url="https://idp", oidc_client_id="c", oidc_ca_file=tmp_path / "ca")
    with pytest.raises(OptionError, match=r"--oidc-ca-file: .*ca holds no PEM certificates"):
        read_configuration(options)


async def test_server_authenticates_by_a_provider_and_restricts_anonymous_requests(path):
    async def respond(target, _):
        documents = {
            "/.well-known/openid-configuration": {"issuer": provider.url, "jwks_uri": f"{provider.url}/keys"},
            "/keys": {"keys": [KEY.jwk()]},
        }
        return http_response(documents[target])

    async with WebhookServer(respond) as provider:
        ca = base64.b64decode(ca_bundle()).decode()
        anonymous = {"enabled": True, "conditions": [{"path": "/livez"}]}
        path.write_text(text_of(jwt(provider.url, certificateAuthority=ca), anonymous=anonymous))
        options = APIServerOptions(ephemeral=True, authentication_config=path)
        async with InProcessAPIServer(options=options) as server:
            exp = RealClock().now().timestamp() + 600
            token = KEY.sign({"iss": provider.url, "aud": "kube", "sub": "alice", "exp": exp})
            headers = {"authorization": f"Bearer {token}"}
            answer = await server.request("POST", REVIEWS, body=b"{}", headers=headers)
            assert answer.json()["status"]["userInfo"]["username"] == "alice"
            none = {"authorization": ""}
            assert (await server.request("GET", "/livez", headers=none)).code == 200
            assert (await server.request("GET", "/readyz", headers=none)).code == 401
            metrics = (await server.request("GET", "/metrics")).body.decode()
            assert "apiserver_authentication_jwt_authenticator_latency_seconds_count" in metrics
            assert "apiserver_authentication_config_controller_last_config_info" in metrics


def test_configuration_of_the_authentication_page_is_valid(path):
    page = (Path(__file__).parents[4] / "docs" / "authentication.md").read_text()
    text, _ = re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    path.write_text(text)
    configuration = read_configuration(APIServerOptions(authentication_config=path)).configuration
    assert configuration.jwt[0].issuer.url == "https://idp.example.com"
    assert len(configuration.anonymous.conditions) == 3
