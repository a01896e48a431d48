"""Tokens of service accounts that lie in Secrets: without an end, valid as long as the Secret holds them.

Whoever fills the Secrets signs with the same key; the claims are those of ``pkg/serviceaccount/legacy.go``.
"""

from __future__ import annotations

import base64
import binascii
import hmac
from typing import TYPE_CHECKING, Any, Final

from steersman.apiserver.authn import jws
from steersman.apiserver.authn.interface import InvalidCredentials, review_for_server
from steersman.apiserver.request import UserInfo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.apiserver.authn.interface import Reviewed, SecretSource
    from steersman.apiserver.authn.service_account import BoundObjects, KeyRing

ISSUER: Final = "kubernetes/serviceaccount"
_CLAIM: Final = "kubernetes.io/serviceaccount/"
_INVALID_SINCE: Final = "kubernetes.io/legacy-token-invalid-since"


class LegacyTokens:
    """A ``TokenAuthenticator``."""

    def __init__(
        self, keys: KeyRing, objects: BoundObjects, secrets: SecretSource, *, audiences: Sequence[str]
    ) -> None:
        self._keys: Final = keys
        self._objects: Final = objects
        self._secrets: Final = secrets
        self._audiences: Final = tuple(audiences)

    async def authenticate_token(self, token: str) -> UserInfo | None:
        """The account; None for tokens of other issuers. Raises ``InvalidCredentials``."""
        if not jws.looks_signed(token):
            return None
        try:
            parsed = jws.parse(token)
        except jws.MalformedTokenError:
            return None
        if parsed.claims.get("iss") != ISSUER:
            return None
        if not any(jws.is_signed_by(parsed, key) for key in (await self._keys.verifying()).values()):
            raise InvalidCredentials("invalid signature")
        return await self._check(parsed.claims, token)

    async def review(self, token: str, audiences: Sequence[str]) -> Reviewed | None:
        """As ``authenticate_token``; these tokens are for this server only."""
        return await review_for_server(self, token, audiences, own=self._audiences)

    async def _check(self, claims: dict[str, Any], token: str) -> UserInfo:
        """Whether account and Secret are still there and hold this token."""
        namespace, account, uid, name = (
            _text(claims, part) for part in ("namespace", "service-account.name", "service-account.uid", "secret.name")
        )
        user = f"system:serviceaccount:{namespace}:{account}"
        if claims.get("sub") != user:
            raise InvalidCredentials("the token's subject is another than its service account")
        secret = await self._secrets.secret(namespace, name)
        if secret is None or secret["metadata"].get("deletionTimestamp"):
            raise InvalidCredentials("the service account token has been invalidated")
        if not hmac.compare_digest(_held(secret), token.encode()):
            raise InvalidCredentials("the service account token does not match the server's copy")
        if (secret["metadata"].get("labels") or {}).get(_INVALID_SINCE):
            raise InvalidCredentials("the service account token has been marked as invalid")
        found = await self._objects.find("ServiceAccount", account, namespace=namespace)
        if found is None or found.uid != uid or found.deleted_seconds is not None:
            raise InvalidCredentials("the service account of the token is not there any more")
        return UserInfo(user, ("system:serviceaccounts", f"system:serviceaccounts:{namespace}"), uid)


def _text(claims: dict[str, Any], part: str) -> str:
    value = claims.get(_CLAIM + part)
    if not isinstance(value, str) or not value:
        raise InvalidCredentials(f"the claim {part} is missing")
    return value


def _held(secret: dict[str, Any]) -> bytes:
    try:
        return base64.b64decode((secret.get("data") or {}).get("token") or "")
    except (binascii.Error, ValueError):
        return b""
