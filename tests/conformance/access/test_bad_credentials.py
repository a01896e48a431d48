"""Invalid credentials: 401 for every request, and never logged."""

import asyncio
import base64
import json
import logging

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from tests.unit.listening import hang_up

from steersman.apiserver.authn import jws
from steersman.apiserver.authn.keys import PrivateKey
from steersman.apiserver.server.http1 import serving as http1
from steersman.apiserver.server.loopback import Loopback
from steersman.asynckit.clock import RealClock
from steersman.testing import InProcessAPIServer

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"


@pytest.fixture
async def server():
    async with InProcessAPIServer() as started:
        assert (await started.request("POST", ACCOUNTS, body=b'{"metadata":{"name":"robot"}}')).code == 201
        yield started


@pytest.fixture
async def token(server):
    answer = await server.request("POST", f"{ACCOUNTS}/robot/token", body=b'{"spec":{}}')
    return answer.json()["status"]["token"]


async def code_of(server, token, path="/version"):
    client = Loopback(server.core.app, headers={"authorization": f"Bearer {token}"})
    return (await client.request("GET", path)).code


def part(tree) -> str:
    return base64.urlsafe_b64encode(json.dumps(tree).encode()).rstrip(b"=").decode()


def claims_of(token):
    return jws.read_unverified(token).claims


async def test_valid_token_is_accepted(server, token):
    assert await code_of(server, token) == 200


async def test_token_of_a_deleted_account_is_rejected_on_a_connection_that_repeats_its_headers(server, token):
    serving = http1.Serving(server.core.app, clock=RealClock())
    sock = http1.listen("127.0.0.1", 0)
    await serving.start(sock, None)
    reader, writer = await asyncio.open_connection(*sock.getsockname())
    codes = []
    for number in range(4):
        if number == 2:
            assert (await server.request("DELETE", f"{ACCOUNTS}/robot")).code == 200
        writer.write(f"GET /version HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        codes.append(int(head.split()[1]))
        await reader.readexactly(int(head.partition("content-length: ")[2].split()[0]))
    assert codes == [200, 200, 401, 401]
    await hang_up(writer)
    await serving.stop(grace_seconds=0)


async def test_token_without_signature_is_rejected(server, token):
    body = part(claims_of(token))
    for algorithm in ("none", "None", "HS256"):
        assert await code_of(server, f"{part({'alg': algorithm})}.{body}.") == 401


async def test_token_signed_with_the_public_key_as_secret_is_rejected(server, token):
    [key] = (await server.core.keys.verifying()).values()
    signed = f"{part({'alg': 'HS256', 'kid': key.kid})}.{part(claims_of(token))}"
    assert await code_of(server, f"{signed}.{part(key.jwk())}") == 401


async def test_token_of_a_foreign_key_is_rejected(server, token):
    other = PrivateKey(rsa.generate_private_key(public_exponent=65537, key_size=2048))
    assert await code_of(server, other.sign(claims_of(token))) == 401
    other.kid = jws.read_unverified(token).header.kid
    assert await code_of(server, other.sign(claims_of(token))) == 401


async def test_token_with_changed_claims_is_rejected(server, token):
    head, _, signature = token.split(".")
    claims = claims_of(token) | {"exp": 2**40}
    assert await code_of(server, f"{head}.{part(claims)}.{signature}") == 401


async def test_parts_of_a_token_are_rejected(server, token):
    for text in (token[:-10], token[10:], token.rpartition(".")[0], token + "a" * 8, "a.b.c", "x" * 100_000):
        assert await code_of(server, text) == 401


async def test_signed_token_without_required_claims_is_rejected(server, token):
    key = await server.core.keys.signing()
    whole = claims_of(token)
    for name in ("iss", "sub", "kubernetes.io"):
        claims = {key_: value for key_, value in whole.items() if key_ != name}
        assert await code_of(server, key.sign(claims)) == 401
    assert await code_of(server, key.sign({**whole, "aud": ["vault"]})) == 401
    assert await code_of(server, key.sign({**whole, "exp": 1})) == 401
    assert await code_of(server, key.sign({**whole, "nbf": 2**40})) == 401


async def test_credentials_are_never_logged(server, token, caplog):
    caplog.set_level(logging.DEBUG)
    bad = token[:-4] + "AAAA"
    assert await code_of(server, bad) == 401
    assert await code_of(server, "super-secret") == 401
    assert "unable to authenticate" in caplog.text
    for secret in (bad, bad[-40:], "super-secret"):
        assert secret not in caplog.text


async def test_front_proxy_headers_of_a_client_are_ignored(server):
    headers = {"x-remote-user": "root", "x-remote-group": "system:masters"}
    answer = await Loopback(server.core.app, headers=headers).request("GET", "/api/v1/nodes")
    assert (answer.code, '"system:anonymous"' in answer.json()["message"]) == (403, True)


async def test_impersonation_requires_permission(server, token):
    headers = {"authorization": f"Bearer {token}", "impersonate-user": "system:apiserver"}
    answer = await Loopback(server.core.app, headers=headers).request("GET", "/version")
    assert answer.code == 403
    headers |= {"impersonate-group": "system:masters"}
    assert (await Loopback(server.core.app, headers=headers).request("GET", "/version")).code == 403
