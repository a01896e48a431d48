"""OpenID Connect endpoints of the issuer."""

import json

import pytest

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.discovery.openid import OpenID
from steersman.apiserver.http import Request

KEY = {"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "k", "n": "n", "e": "AQAB"}


async def keys():
    return [KEY]


ENDPOINTS = OpenID("https://issuer", address=lambda: "192.0.2.1:6443", keys=keys)


def request(accept: str = "") -> Request:
    headers = [(b"accept", accept.encode())] if accept else []
    return Request({"method": "GET", "path": "/", "query_string": b"", "headers": headers}, receive=None)


async def test_configuration_has_issuer_keys_and_algorithms():
    response = await ENDPOINTS.configuration(request("application/json"))
    assert json.loads(response.body) == {
        "issuer": "https://issuer",
        "jwks_uri": "https://192.0.2.1:6443/openid/v1/jwks",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"],
    }


@pytest.mark.parametrize("accept", ["", "*/*", "application/jwk-set+json"])
async def test_keys_have_own_media_type(accept):
    response = await ENDPOINTS.keys(request(accept))
    assert response.headers[0] == (b"content-type", b"application/jwk-set+json")
    assert json.loads(response.body) == {"keys": [KEY]}


async def test_keys_raise_406_for_plain_json():
    with pytest.raises(StatusError, match="application/jwk-set"):
        await ENDPOINTS.keys(request("application/json"))
