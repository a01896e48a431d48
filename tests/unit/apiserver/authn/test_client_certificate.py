"""Users of client certificates."""

import ssl
from datetime import UTC, datetime

import pytest

from steersman.apiserver.authn.client_certificate import ClientCertificate
from steersman.apiserver.authn.interface import InvalidCredentials
from steersman.apiserver.http import Request
from steersman.asynckit.clock import FakeClock

CLOCK = FakeClock(datetime(2030, 1, 1, tzinfo=UTC))
NOW = CLOCK.now().timestamp()
PEM = ssl.DER_cert_to_PEM_cert(b"certificate")


def request(extensions: object) -> Request:
    scope = {"method": "GET", "path": "/", "query_string": b"", "headers": []}
    return Request(scope | ({"extensions": extensions} if extensions is not None else {}), receive=None)


def tls(**more: object) -> dict[str, object]:
    base = {"client_cert_chain": [PEM], "client_cert_name": "CN=alice,O=ops,O=devs", "client_cert_error": None}
    base["client_cert_valid"] = (NOW - 1, NOW + 1)
    return {"tls": base | more}


async def test_authenticate_maps_common_name_to_user_and_organizations_to_groups():
    user = await ClientCertificate(CLOCK).authenticate(request(tls()))
    assert (user.name, user.groups) == ("alice", ("devs", "ops"))
    assert user.extra["authentication.kubernetes.io/credential-id"][0].startswith("X509SHA256=")


@pytest.mark.parametrize("extensions", [None, {}, {"tls": {"client_cert_chain": []}}])
async def test_authenticate_returns_none_without_certificate(extensions):
    assert await ClientCertificate(CLOCK).authenticate(request(extensions)) is None


@pytest.mark.parametrize(
    "more",
    [{"client_cert_error": "expired"}, {"client_cert_name": "O=devs"}, {"client_cert_name": None}],
)
async def test_authenticate_raises_for_unusable_certificate(more):
    with pytest.raises(InvalidCredentials):
        await ClientCertificate(CLOCK).authenticate(request(tls(**more)))


@pytest.mark.parametrize("valid", [(NOW + 1, NOW + 2), (NOW - 2, NOW - 1), (float("inf"), float("-inf"))])
async def test_authenticate_raises_outside_of_validity_period(valid):
    with pytest.raises(InvalidCredentials, match="expired or is not yet valid"):
        await ClientCertificate(CLOCK).authenticate(request(tls(client_cert_valid=valid)))


async def test_authenticate_raises_once_certificate_expires():
    clock = FakeClock(datetime(2030, 1, 1, tzinfo=UTC))
    authenticator = ClientCertificate(clock)
    assert await authenticator.authenticate(request(tls())) is not None
    await clock.advance(2)
    with pytest.raises(InvalidCredentials):
        await authenticator.authenticate(request(tls()))


async def test_authenticate_cached_returns_verified_user_in_authenticated_group():
    authenticator = ClientCertificate(CLOCK)
    assert authenticator.authenticate_cached(tls()["tls"]) is None
    await authenticator.authenticate(request(tls()))
    user = authenticator.authenticate_cached(tls()["tls"])
    assert (user.name, user.groups) == ("alice", ("devs", "ops", "system:authenticated"))


@pytest.mark.parametrize(("seconds_left", "known_seconds"), [(1, 1), (100, 10)])
async def test_authenticate_cached_returns_none_after_seconds_or_expiry(seconds_left, known_seconds):
    clock = FakeClock(datetime(2030, 1, 1, tzinfo=UTC))
    authenticator = ClientCertificate(clock)
    extension = tls(client_cert_valid=(NOW - 1, NOW + seconds_left))
    await authenticator.authenticate(request(extension))
    await clock.advance(known_seconds - 0.1)
    assert authenticator.authenticate_cached(extension["tls"]) is not None
    await clock.advance(0.1)
    assert authenticator.authenticate_cached(extension["tls"]) is None


async def test_authenticate_cached_returns_none_for_other_chain():
    authenticator = ClientCertificate(CLOCK)
    await authenticator.authenticate(request(tls()))
    assert authenticator.authenticate_cached(tls(client_cert_valid=(NOW - 2, NOW - 1))["tls"]) is None


async def test_expirations_count_every_request_by_the_remaining_lifetime():
    clock = FakeClock(datetime(2030, 1, 1, tzinfo=UTC))
    authenticator = ClientCertificate(clock)
    certificate = tls(client_cert_valid=(NOW, NOW + 3605))
    await authenticator.authenticate(request(certificate))
    for _ in range(2):
        assert authenticator.authenticate_cached(certificate["tls"]) is not None
    await clock.advance(10)
    await authenticator.authenticate(request(certificate))
    buckets = dict(authenticator.expirations().buckets())
    assert (buckets["1800"], buckets["3600"], buckets["7200"], buckets["+Inf"]) == (0, 1, 4, 4)
    assert dict(authenticator.expirations().buckets()) == buckets
