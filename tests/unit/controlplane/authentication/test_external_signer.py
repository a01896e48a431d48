"""External signer of service account tokens."""

import json
from contextlib import asynccontextmanager

import pytest
from tests.unit.controlplane.authentication.external_signing import Key, Signer, serve

from steersman.apiserver.authn import jws
from steersman.apiserver.authn.keys import new_private_key
from steersman.apiserver.authn.token_issuer import SigningError
from steersman.asynckit.clock import FakeClock, RealClock
from steersman.asynckit.tasks import Supervisor
from steersman.controlplane.apiserver import APIServer
from steersman.controlplane.authentication.external_signer import ExternalSigner
from steersman.controlplane.core import ServerCore
from steersman.controlplane.option_checks import check_options
from steersman.controlplane.options import APIServerOptions, OptionError
from steersman.storage.memory import MemoryStore

ONE, TWO, OLD = Key("one"), Key("two"), Key("old", is_excluded=True)
CLAIMS = {"sub": "alice"}


@asynccontextmanager
async def served(signer, tmp_path):
    path = str(tmp_path / "signer.sock")
    server = await serve(signer, path)
    try:
        yield path
    finally:
        await server.stop(None)


@asynccontextmanager
async def opened(signer, tmp_path, clock=None):
    async with served(signer, tmp_path) as path:
        external = await ExternalSigner.open(path, clock=clock or FakeClock())
        try:
            yield external
        finally:
            await external.close()


async def test_sign_returns_a_token_that_the_keys_verify(tmp_path):
    async with opened(Signer(ONE, OLD), tmp_path) as external:
        token = await external.sign(CLAIMS)
        keys = await external.verifying("one")
        assert keys[jws.read_unverified(token).header.kid].verified_claims(token) == CLAIMS
        assert set(keys) == {"one", "old"}
        assert [key["kid"] for key in await external.public_keys()] == ["one"]
        assert (external.life_seconds_max, await external.signing_file()) == (7200, None)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ({"typ": "JWS"}, "while validating header: bad type"),
        ({"kid": ""}, "while validating header: key id missing"),
        ({"kid": "k" * 1025}, "while validating header: key id longer than 1 kb"),
        ({"alg": "none"}, 'while validating header: bad signing algorithm "none"'),
        ({"alg": "HS256"}, 'while validating header: bad signing algorithm "HS256"'),
        ({"kid": 1}, "while validating header: while parsing header JSON: "),
        ({"crit": []}, "while validating header: while parsing header JSON: "),
        (
            {"kid": "old"},
            "while validating header: key used for signing JWT (kid: old) is excluded from OIDC discovery docs",
        ),
    ],
)
async def test_sign_refuses_other_headers(tmp_path, header, message):
    signer = Signer(ONE, OLD)
    signer.header = header
    async with opened(signer, tmp_path) as external:
        with pytest.raises(SigningError) as refused:
            await external.sign(CLAIMS)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    ("signature", "message"), [("", "empty signature returned"), ("a b", "the token is no signed")]
)
async def test_sign_refuses_other_signatures(tmp_path, signature, message):
    signer = Signer(ONE)
    signer.signature = signature
    async with opened(signer, tmp_path) as external:
        with pytest.raises(SigningError, match=message):
            await external.sign(CLAIMS)


async def test_sign_reports_the_error_of_the_signer(tmp_path):
    signer = Signer(ONE)
    signer.failing.add("Sign")
    async with opened(signer, tmp_path) as external:
        with pytest.raises(SigningError, match="while signing jwt: rpc error: code = Unavailable desc = down"):
            await external.sign(CLAIMS)
        samples = {(family.name, labels): v for family in await external.collect() for _, labels, v in family.samples}
    assert samples["apiserver_externaljwt_sign_request_total", (("code", "Unavailable"),)] == 1
    assert samples["apiserver_externaljwt_fetch_keys_request_total", (("code", "OK"),)] == 1
    assert samples["apiserver_externaljwt_fetch_keys_data_timestamp", ()] == 1700000000


async def test_keys_are_fetched_for_an_unknown_id_at_most_once_a_second(tmp_path):
    signer, clock = Signer(ONE), FakeClock()
    async with opened(signer, tmp_path, clock) as external:
        signer.keys.append(TWO)
        assert set(await external.verifying("two")) == {"one"}
        await clock.advance(1)
        assert set(await external.verifying("two")) == {"one", "two"}
        assert set(await external.verifying("three")) == {"one", "two"}
        assert signer.calls == ["Metadata", "FetchKeys", "FetchKeys"]


async def test_failed_fetch_keeps_the_last_keys(tmp_path, caplog):
    signer, clock = Signer(ONE), FakeClock()
    async with opened(signer, tmp_path, clock) as external:
        signer.failing.add("FetchKeys")
        await clock.advance(1)
        assert set(await external.verifying("two")) == {"one"}
    assert "Error while syncing keys" in caplog.text


async def test_keys_are_fetched_when_the_signer_advises_it(tmp_path):
    signer, clock = Signer(ONE), FakeClock()
    async with opened(signer, tmp_path, clock) as external:
        tasks = Supervisor("test")
        signer.fetched.clear()
        tasks.start("keys", external.run())
        await clock.advance(30)
        await signer.fetched.wait()
        await tasks.close()


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"life_seconds": 599}, r"max token life supported by external-jwt-signer \(599s\) is less than acceptable"),
        ({"refresh_seconds": 0}, r"found invalid refresh hint \(0s\)"),
        ({"refresh_seconds": -1}, r"found invalid refresh hint \(-1s\)"),
        ({"keys": []}, "found no keys"),
        ({"failing": {"Metadata"}}, "while getting metadata: rpc error: code = Unavailable desc = down"),
        ({"failing": {"FetchKeys"}}, "while getting externally supported jwt signing keys: "),
    ],
)
async def test_unusable_signer_ends_the_start(tmp_path, attributes, message):
    signer = Signer(ONE)
    for name, value in attributes.items():
        setattr(signer, name, value)
    with pytest.raises(OptionError, match=f"--service-account-signing-endpoint: .*{message}"):
        async with opened(signer, tmp_path):
            pass


async def test_missing_signer_ends_the_start(tmp_path):
    with pytest.raises(OptionError, match=r"--service-account-signing-endpoint: .*while getting metadata"):
        await ExternalSigner.open(str(tmp_path / "none"), clock=FakeClock())


@pytest.mark.parametrize("endpoint", ["abc", "@abc@", "@abc.abc  .ae"])
def test_invalid_endpoints_are_option_errors(endpoint):
    options = APIServerOptions(ephemeral=True, service_account_signing_endpoint=endpoint)
    with pytest.raises(
        OptionError, match=f'invalid value "{endpoint}" passed for `--service-account-signing-endpoint`'
    ):
        check_options(options)


@pytest.mark.parametrize("option", ["service_account_signing_key_file", "service_account_key_file"])
def test_endpoint_excludes_key_files(tmp_path, option):
    path = tmp_path / "key"
    path.write_bytes(new_private_key().pem())
    value = path if option == "service_account_signing_key_file" else (path,)
    options = APIServerOptions(ephemeral=True, service_account_signing_endpoint="@abc", **{option: value})
    with pytest.raises(OptionError, match="mutually exclusive"):
        check_options(options)


async def test_server_issues_tokens_by_its_signer(tmp_path):
    signer = Signer(ONE)
    async with served(signer, tmp_path) as path:
        options = APIServerOptions(
            ephemeral=True, data_dir=tmp_path / "data", secure_port=0, service_account_signing_endpoint=path
        )
        started = await APIServer.start(options)
        try:
            assert started.options.service_account_max_token_expiration_seconds == 7200
            assert await started.account_key_file() is None
        finally:
            await started.stop(grace_seconds=0)
        long = APIServerOptions(
            ephemeral=True,
            data_dir=tmp_path / "data",
            secure_port=0,
            service_account_signing_endpoint=path,
            service_account_max_token_expiration_seconds=7201,
        )
        with pytest.raises(OptionError, match="service-account-max-token-expiration cannot be set longer than"):
            await APIServer.start(long)


async def test_token_requests_are_answered_or_fail_with_the_signer(tmp_path):
    signer = Signer(ONE)
    async with opened(signer, tmp_path, RealClock()) as external:
        core = ServerCore(
            APIServerOptions(ephemeral=True), MemoryStore(clock=RealClock()), clock=RealClock(), signer=external
        )
        try:
            await core.start()
            await exchange(core.client, signer)
        finally:
            await core.close()


async def exchange(server, signer):
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    await server.request("POST", accounts, body=b'{"metadata":{"name":"robot"}}')
    answer = await server.request("POST", f"{accounts}/robot/token", body=b"{}")
    token = answer.json()["status"]["token"]
    review = {"spec": {"token": token}}
    path = "/apis/authentication.k8s.io/v1/tokenreviews"
    reviewed = await server.request("POST", path, body=json.dumps(review).encode())
    assert reviewed.json()["status"]["user"]["username"] == "system:serviceaccount:default:robot"
    listed = await server.request("GET", "/openid/v1/jwks")
    assert [key["kid"] for key in listed.json()["keys"]] == ["one"]
    signer.failing.add("Sign")
    answer = await server.request("POST", f"{accounts}/robot/token", body=b"{}")
    assert answer.code == 500
    assert "failed to generate token: while signing jwt: " in answer.json()["message"]
    assert "apiserver_externaljwt_sign_request_total" in (await server.request("GET", "/metrics")).body.decode()
