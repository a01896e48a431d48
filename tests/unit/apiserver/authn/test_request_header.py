"""Users named by front proxies."""

import pytest

from steersman.apiserver.authn.client_certificate import CertificateAuthorities, ClientCertificate
from steersman.apiserver.authn.interface import InvalidCredentials
from steersman.apiserver.authn.request_header import RequestHeader
from steersman.apiserver.http import Request
from steersman.asynckit.clock import FakeClock

FRONT, CLIENTS = frozenset({"front"}), frozenset({"clients"})
HEADERS = [
    (b"x-remote-user", b"jane"),
    (b"x-remote-group", b"a"),
    (b"x-remote-group", b"b"),
    (b"x-remote-extra-example.com%2fx", b"1"),
    (b"accept", b"*/*"),
]


def authorities() -> CertificateAuthorities:
    certificate_authorities = CertificateAuthorities()
    certificate_authorities.clients, certificate_authorities.front_proxies = CLIENTS, FRONT
    return certificate_authorities


def authenticator(clock, allowed_names=("front-proxy-client",)) -> RequestHeader:
    return RequestHeader(
        authorities(),
        clock=clock,
        allowed_names=allowed_names,
        username_headers=("X-Remote-User",),
        group_headers=("X-Remote-Group",),
        extra_prefixes=("X-Remote-Extra-",),
    )


def request(signers=FRONT, name="CN=front-proxy-client", headers=HEADERS, valid=(0.0, 1e12)) -> Request:
    tls = {
        "client_cert_chain": ["PEM"],
        "client_cert_name": name,
        "client_cert_valid": valid,
        "client_cert_authorities": signers,
    }
    scope = {"method": "GET", "path": "/", "query_string": b"", "headers": list(headers), "extensions": {"tls": tls}}
    return Request(scope, None)


async def test_authenticate_reads_and_removes_headers():
    http_request = request()
    user = await authenticator(FakeClock()).authenticate(http_request)
    assert (user.name, user.groups, user.extra) == ("jane", ("a", "b"), {"example.com/x": ("1",)})
    assert http_request.headers == [(b"accept", b"*/*")]


async def test_authenticate_returns_none_without_front_proxy_certificate():
    http_request = request(CLIENTS)
    assert await authenticator(FakeClock()).authenticate(http_request) is None
    assert http_request.headers == HEADERS


async def test_authenticate_returns_none_without_user_header():
    assert await authenticator(FakeClock()).authenticate(request(headers=[])) is None


async def test_common_name_must_be_allowed():
    with pytest.raises(InvalidCredentials, match="x509: subject with cn=other is not in the allowed list"):
        await authenticator(FakeClock()).authenticate(request(name="CN=other"))
    assert await authenticator(FakeClock(), ()).authenticate(request(name="CN=other")) is not None


async def test_expired_certificate_is_rejected():
    with pytest.raises(InvalidCredentials, match="expired"):
        await authenticator(FakeClock()).authenticate(request(valid=(0.0, 1.0)))


async def test_front_proxy_certificate_authenticates_no_user():
    with pytest.raises(InvalidCredentials, match="signed by unknown authority"):
        await ClientCertificate(FakeClock(), authorities()).authenticate(request())
