"""Users from the TLS extension of a scope."""

import ssl

import pytest

from steersman.apiserver.authn.client_certificate import ClientCertificate
from steersman.apiserver.authn.interface import InvalidCredentials
from steersman.apiserver.http import Request

PEM = ssl.DER_cert_to_PEM_cert(b"certificate")


def request(extensions: object) -> Request:
    scope = {"method": "GET", "path": "/", "query_string": b"", "headers": []}
    return Request(scope | ({"extensions": extensions} if extensions is not None else {}), receive=None)


def tls(**more: object) -> dict[str, object]:
    base = {"client_cert_chain": [PEM], "client_cert_name": "CN=alice,O=ops,O=devs", "client_cert_error": None}
    return {"tls": base | more}


async def test_common_name_is_the_user_and_organizations_are_the_groups():
    user = await ClientCertificate().authenticate(request(tls()))
    assert (user.name, user.groups) == ("alice", ("devs", "ops"))
    assert user.extra["authentication.kubernetes.io/credential-id"][0].startswith("X509SHA256=")


@pytest.mark.parametrize("extensions", [None, {}, {"tls": {"client_cert_chain": []}}])
async def test_no_certificate_is_no_credential(extensions):
    assert await ClientCertificate().authenticate(request(extensions)) is None


@pytest.mark.parametrize(
    "more",
    [{"client_cert_error": "expired"}, {"client_cert_name": "O=devs"}, {"client_cert_name": None}],
)
async def test_an_unusable_certificate_is_invalid(more):
    with pytest.raises(InvalidCredentials):
        await ClientCertificate().authenticate(request(tls(**more)))
