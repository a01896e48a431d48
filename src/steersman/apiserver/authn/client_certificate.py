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

    __slots__ = ("until", "user", "valid")

    def __init__(self, user: UserInfo, valid: tuple[float, float], until: float) -> None:
        self.user: Final = user
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

    def authenticate_cached(self, tls: dict[str, Any]) -> UserInfo | None:
        """Return the cached user of a connection's certificate, in ``system:authenticated``; None: call
        ``authenticate``.
        """
        verified = self._verified.get(tls["client_cert_chain"][0])
        if verified is None or verified.valid != tls["client_cert_valid"]:
            return None
        return verified.user if self._clock.monotonic() < verified.until else None

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
                self._users.clear()
                self._verified.clear()
            self._users[chain[0]] = user
        if self._authorities.front_proxies.isdisjoint(
            signers
        ):  # not for front proxies: the next request may have another user
            first, last = tls["client_cert_valid"]
            until = self._clock.monotonic() + min(_VERIFIED_SECONDS, last - now)
            self._verified[chain[0]] = _Verified(with_authenticated_group(user), (first, last), until)
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
