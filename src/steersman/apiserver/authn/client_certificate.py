"""Client certificates: the common name is the user, each organization a group (``x509.CommonNameUserConversion``).

The server has verified the certificate against ``--client-ca-file`` before any request, except for its time, which is
checked here with each request. What it found comes in the scope as the ASGI TLS extension says.
"""

from __future__ import annotations

import hashlib
import ssl
from typing import TYPE_CHECKING, Any, Final

from steersman.apiserver.authn import distinguished_name
from steersman.apiserver.authn.interface import InvalidCredentials
from steersman.apiserver.request import UserInfo

if TYPE_CHECKING:
    from steersman.apiserver.http import Request
    from steersman.asynckit.clock import Clock

#: Bound of the table of certificates seen; it is emptied when full.
_SEEN_MAX = 1024


class ClientCertificate:
    """Maps certificates to users, each once."""

    def __init__(self, clock: Clock) -> None:
        self._clock: Final = clock
        self._seen: dict[str, UserInfo] = {}

    async def authenticate(self, request: Request) -> UserInfo | None:
        """The certificate's user, None without one. Raises ``InvalidCredentials``."""
        extensions = request.scope.get("extensions")
        tls = extensions.get("tls") if extensions else None
        if not tls or not (chain := tls["client_cert_chain"]):
            return None
        first, last = tls["client_cert_valid"]
        if not first <= self._clock.now().timestamp() <= last:
            raise InvalidCredentials("x509: certificate has expired or is not yet valid")
        user = self._seen.get(chain[0])
        if user is None:
            user = _user(tls)
            if len(self._seen) >= _SEEN_MAX:
                self._seen.clear()
            self._seen[chain[0]] = user
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
