"""OpenID Connect endpoints of the service account issuer: discovery document and public keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from steersman.apiserver.discovery.produces import require_accepted
from steersman.apiserver.http import Response

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from steersman.apiserver.http import Request

CONFIGURATION_PATH = "/.well-known/openid-configuration"
KEYS_PATH = "/openid/v1/jwks"

#: Cache headers of both endpoints.
_CACHED = [(b"cache-control", b"public, max-age=3600")]


class OpenID:
    """The two endpoints."""

    def __init__(
        self,
        issuer: str,
        *,
        address: Callable[[], str],
        keys: Callable[[], Awaitable[list[dict[str, Any]]]],
        jwks_uri: str = "",
    ) -> None:
        """``address``: external address of the server; ``keys``: public keys as JSON Web Keys (RFC 7517).

        ``jwks_uri``: URL of the keys, if not served here.
        """
        self._issuer = issuer
        self._jwks_uri = jwks_uri
        self._address = address
        self._keys = keys

    async def configuration(self, request: Request) -> Response:
        """Serve ``/.well-known/openid-configuration``. Raises 406."""
        require_accepted(request, "application/json")
        document = {
            "issuer": self._issuer,
            "jwks_uri": self._jwks_uri or f"https://{self._address()}{KEYS_PATH}",
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": sorted({key["alg"] for key in await self._keys()}),
        }
        return Response(200, msgspec.json.encode(document), headers=_CACHED)

    async def keys(self, request: Request) -> Response:
        """Serve ``/openid/v1/jwks``. Raises 406, also for plain JSON."""
        require_accepted(request, "application/jwk-set+json")
        body = msgspec.json.encode({"keys": await self._keys()})
        return Response(200, body, content_type=b"application/jwk-set+json", headers=_CACHED)
