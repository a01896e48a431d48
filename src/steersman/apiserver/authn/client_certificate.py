"""Client certificates: the common name is the user, each organization a group (``x509.CommonNameUserConversion``).

The handshake verifies the certificate against ``--client-ca-file``, except for its time, which is checked here with each
request. The result comes in the scope as the ASGI TLS extension says.
"""

from __future__ import annotations

import hashlib
import ssl
from typing import TYPE_CHECKING, Any, Final

from steersman.apiserver.authn import distinguished_name
from steersman.apiserver.authn.interface import InvalidCredentials, with_authenticated_group
from steersman.apiserver.request import UserInfo

if TYPE_CHECKING:
    from steersman.apiserver.http import Request
    from steersman.asynckit.clock import Clock

#: Bound of the table of certificates seen; it is emptied when full.
_SEEN_MAX: Final = 1024
#: After this time the wall clock is asked again whether a certificate is valid.
_VERIFIED_SECONDS: Final = 10.0


class _Verified:
    """A certificate's user, and until when its validity need not be checked."""

    __slots__ = ("until", "user", "valid")

    def __init__(self, user: UserInfo, valid: tuple[float, float], until: float) -> None:
        self.user: Final = user
        #: Of the certificate's whole chain, which may be another on another connection.
        self.valid: Final = valid
        self.until: Final = until


class ClientCertificate:
    """Maps certificates to users, each once."""

    def __init__(self, clock: Clock) -> None:
        self._clock: Final = clock
        self._seen: dict[str, UserInfo] = {}
        #: Those whose time was checked of late.
        self._verified: dict[str, _Verified] = {}

    def at_once(self, tls: dict[str, Any]) -> UserInfo | None:
        """Return the user of a connection's certificate, in ``system:authenticated``; None: ask ``authenticate``."""
        verified = self._verified.get(tls["client_cert_chain"][0])
        if verified is None or verified.valid != tls["client_cert_valid"]:
            return None
        return verified.user if self._clock.monotonic() < verified.until else None

    async def authenticate(self, request: Request) -> UserInfo | None:
        """The certificate's user, None without one. Raises ``InvalidCredentials``."""
        extensions = request.scope.get("extensions")
        tls = extensions.get("tls") if extensions else None
        if not tls or not (chain := tls["client_cert_chain"]):
            return None
        first, last = tls["client_cert_valid"]
        now = self._clock.now().timestamp()
        if not first <= now <= last:
            raise InvalidCredentials("x509: certificate has expired or is not yet valid")
        user = self._seen.get(chain[0])
        if user is None:
            user = _user(tls)
            if len(self._seen) >= _SEEN_MAX:
                self._seen.clear()
                self._verified.clear()
            self._seen[chain[0]] = user
        until = self._clock.monotonic() + min(_VERIFIED_SECONDS, last - now)
        self._verified[chain[0]] = _Verified(with_authenticated_group(user), (first, last), until)
        return user


def _user(tls: dict[str, Any]) -> UserInfo:
    if tls.get("client_cert_error"):
        raise InvalidCredentials(f"client certificate: {tls['client_cert_error']}")
    attributes = distinguished_name.parse(tls.get("client_cert_name") or "")
    # The last common name counts, as in Go's pkix.Name.
    name = next((value for kind, value in reversed(attributes) if kind == "CN"), "")
    if not name:
        raise InvalidCredentials("the client certificate has no common name")
    groups = tuple(value for kind, value in attributes if kind == "O")
    digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert(tls["client_cert_chain"][0])).hexdigest()
    return UserInfo(name, groups, extra={"authentication.kubernetes.io/credential-id": (f"X509SHA256={digest}",)})
