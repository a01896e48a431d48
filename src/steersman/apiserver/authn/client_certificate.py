"""Client certificates: the common name is the user, organizations are groups. Upstream:
``x509.CommonNameUserConversion``.

The handshake verifies certificates against the CAs of clients and front proxies, except for their validity period,
which is checked here per request. The result is in the ASGI scope's TLS extension, whose ``client_cert_error`` is set for
a certificate that does not verify. Only certificates signed by a client CA authenticate users.
"""

from __future__ import annotations

import hashlib
import re
import ssl
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.histogram import Histogram
from steersman.apiserver.authn import distinguished_name
from steersman.apiserver.authn.interface import InvalidCredentials, with_authenticated_group
from steersman.apiserver.request import UserInfo

if TYPE_CHECKING:
    from steersman.apiserver.http import Request
    from steersman.asynckit.clock import Clock

#: Maximum number of cached certificates; the cache is cleared when full.
_CERTIFICATES_MAX: Final = 1024
#: Seconds for which a validity check of a certificate is reused.
_VERIFIED_SECONDS: Final = 10.0
#: Upper bounds of the remaining lifetimes: from half an hour to a year. Upstream: ``x509.go``.
_EXPIRATION_SECONDS: Final[tuple[float, ...]] = (
    0, 1800, 3600, 7200, 21600, 43200, 86400, 172800, 345600, 604800, 2592000, 7776000, 15552000, 31104000,
)  # fmt: skip
_CERTIFICATE: Final = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)


class CertificateAuthorities:
    """SHA-256 digests of CA certificates by purpose. Set before the server listens."""

    def __init__(self) -> None:
        #: CAs of ``--client-ca-file``; None: every certificate accepted by the handshake authenticates a user.
        self.clients: frozenset[str] | None = None
        #: CAs of ``--requestheader-client-ca-file``.
        self.front_proxies: frozenset[str] = frozenset()


def digests_of(pem: str) -> frozenset[str]:
    """Return the digests of the certificates in a PEM text."""
    return frozenset(hashlib.sha256(ssl.PEM_cert_to_DER_cert(text)).hexdigest() for text in _CERTIFICATE.findall(pem))


class _Verified:
    """User of a certificate, and the time until which its validity period need not be checked."""

    __slots__ = ("remaining_seconds", "requests", "until", "user", "valid")

    def __init__(self, user: UserInfo, valid: tuple[float, float], *, until: float, remaining_seconds: float) -> None:
        self.user: Final = user
        #: Remaining lifetime at the check.
        self.remaining_seconds: Final = remaining_seconds
        #: Requests since the check that are not in the histogram yet.
        self.requests = 0
        #: Intersection of the periods of the whole chain, which may differ between connections.
        self.valid: Final = valid
        self.until: Final = until


class ClientCertificate:
    """Authenticator of client certificates; each certificate is parsed once."""

    def __init__(self, clock: Clock, authorities: CertificateAuthorities | None = None) -> None:
        self._clock: Final = clock
        self._authorities: Final = CertificateAuthorities() if authorities is None else authorities
        #: Users by certificate, in PEM.
        self._users: dict[str, UserInfo] = {}
        #: Certificates whose validity was checked recently.
        self._verified: dict[str, _Verified] = {}
        self._expirations: Final = Histogram(_EXPIRATION_SECONDS)

    def expirations(self) -> Histogram:
        """Return the remaining lifetimes of the certificates of all requests, as of the last check of each."""
        for verified in self._verified.values():
            self._count(verified)
        return self._expirations

    def _count(self, verified: _Verified) -> None:
        """Count the requests since the last call."""
        self._expirations.observe(verified.remaining_seconds, verified.requests)
        verified.requests = 0

    def authenticate_cached(self, tls: dict[str, Any]) -> UserInfo | None:
        """Return the cached user of a connection's certificate, in ``system:authenticated``; None: call
        ``authenticate``.
        """
        verified = self._verified.get(tls["client_cert_chain"][0])
        if verified is None or verified.valid != tls["client_cert_valid"]:
            return None
        if self._clock.monotonic() >= verified.until:
            return None
        verified.requests += 1
        return verified.user

    async def authenticate(self, request: Request) -> UserInfo | None:
        """Return the user of the certificate, None without one. Raises ``InvalidCredentials``."""
        extensions = request.scope.get("extensions")
        tls = extensions.get("tls") if extensions else None
        if not tls or not (chain := tls["client_cert_chain"]):
            return None
        if error := tls.get("client_cert_error"):
            raise InvalidCredentials(error)
        now = self._clock.now().timestamp()
        check_time(tls, now)
        signers: frozenset[str] = tls.get("client_cert_authorities") or frozenset()
        if self._authorities.clients is not None and self._authorities.clients.isdisjoint(signers):
            raise InvalidCredentials("x509: certificate signed by unknown authority")
        user = self._users.get(chain[0])
        if user is None:
            user = _user(tls)
            if len(self._users) >= _CERTIFICATES_MAX:
                self.expirations()
                self._users.clear()
                self._verified.clear()
            self._users[chain[0]] = user
        first, last = tls["client_cert_valid"]
        self._expirations.observe(last - now)
        if self._authorities.front_proxies.isdisjoint(
            signers
        ):  # not for front proxies: the next request may have another user
            until = self._clock.monotonic() + min(_VERIFIED_SECONDS, last - now)
            if (earlier := self._verified.get(chain[0])) is not None:
                self._count(earlier)
            self._verified[chain[0]] = _Verified(
                with_authenticated_group(user), (first, last), until=until, remaining_seconds=last - now
            )
        return user


def check_time(tls: dict[str, Any], now: float) -> None:
    """Raise ``InvalidCredentials`` unless the chain of the certificate is valid at a time in seconds since 1970."""
    first, last = tls["client_cert_valid"]
    if not first <= now <= last:
        raise InvalidCredentials("x509: certificate has expired or is not yet valid")


def common_name(tls: dict[str, Any]) -> str:
    """Return the common name of the certificate: the last one, as in Go's ``pkix.Name``."""
    attributes = distinguished_name.parse(tls.get("client_cert_name") or "")
    return next((value for kind, value in reversed(attributes) if kind == "CN"), "")


def _user(tls: dict[str, Any]) -> UserInfo:
    attributes = distinguished_name.parse(tls.get("client_cert_name") or "")
    name = common_name(tls)
    if not name:
        raise InvalidCredentials("the client certificate has no common name")
    groups = tuple(value for kind, value in attributes if kind == "O")
    digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert(tls["client_cert_chain"][0])).hexdigest()
    return UserInfo(name, groups, extra={"authentication.kubernetes.io/credential-id": (f"X509SHA256={digest}",)})
