"""Legacy service account tokens in Secrets: no expiry, valid as long as the Secret contains them.

The token controller signs them. Upstream: ``pkg/serviceaccount/legacy.go``.
"""

from __future__ import annotations

import base64
import binascii
import hmac
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from steersman.apiserver.authn import jws
from steersman.apiserver.authn.audit_context import annotate, warn
from steersman.apiserver.authn.interface import InvalidCredentials, Reviewed
from steersman.apiserver.authn.service_account import account_not_found, common_audiences
from steersman.apiserver.request import UserInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.authn.interface import SecretSource
    from steersman.apiserver.authn.service_account import BoundObjects, KeyRing, TokenMetrics


ISSUER: Final = "kubernetes/serviceaccount"
_CLAIM: Final = "kubernetes.io/serviceaccount/"
#: Keys of audit annotations.
_NOTED: Final = "authentication.k8s.io/"
#: Names of the claims in the token, in the order in which they are checked, and in errors.
_PARTS: Final = {
    "namespace": "namespace",
    "secret.name": "secretName",
    "service-account.name": "serviceAccountName",
    "service-account.uid": "serviceAccountUID",
}
_INVALID_SINCE: Final = "kubernetes.io/legacy-token-invalid-since"
_LAST_USED: Final = "kubernetes.io/legacy-token-last-used"


class LegacyTokens:
    """Token authenticator of legacy service account tokens."""

    def __init__(
        self,
        keys: KeyRing,
        objects: BoundObjects,
        secrets: SecretSource,
        *,
        audiences: Sequence[str],
        on_use: Callable[[Tree], None],
        metrics: TokenMetrics,
    ) -> None:
        """``on_use``: called with the Secret of an authenticated token."""
        self._keys: Final = keys
        self._objects: Final = objects
        self._secrets: Final = secrets
        self._audiences: Final = tuple(audiences)
        self._on_use: Final = on_use
        self._metrics: Final = metrics

    async def authenticate_token(self, token: str) -> UserInfo | None:
        """Return the service account; None for tokens of other issuers. Raises ``InvalidCredentials``."""
        reviewed = await self.review(token, self._audiences)
        return None if reviewed is None else reviewed.user

    async def review(self, token: str, audiences: Sequence[str]) -> Reviewed | None:
        """Review a token; legacy tokens are valid for this server's audiences only."""
        claims = await self._verified_claims(token)
        if claims is None:
            return None
        annotate(f"{_NOTED}legacy-token", str(claims.get("sub", "")))
        self._metrics.legacy += 1
        common = common_audiences(self._audiences, audiences)
        return Reviewed(await self._check(claims, token), common)

    async def _verified_claims(self, token: str) -> dict[str, Any] | None:
        """Return the claims of a token with a valid signature; None for tokens of other issuers."""
        if not jws.looks_signed(token):
            return None
        try:
            if jws.read_unverified(token).issuer != ISSUER:
                return None
        except jws.MalformedTokenError:
            return None
        for key in (await self._keys.verifying()).values():
            claims = key.verified_claims(token)
            if claims is not None:
                return claims
        raise InvalidCredentials("invalid signature")

    async def _check(self, claims: dict[str, Any], token: str) -> UserInfo:
        """Check that ServiceAccount and Secret exist and that the Secret contains this token."""
        if not claims.get("sub"):
            raise InvalidCredentials("sub claim is missing")
        namespace, name, account, uid = (_text(claims, part) for part in _PARTS)
        user = f"system:serviceaccount:{namespace}:{account}"
        if claims.get("sub") != user:
            raise InvalidCredentials("sub claim is invalid")
        secret = await self._secrets.secret(namespace, name)
        if secret is None or secret["metadata"].get("deletionTimestamp"):
            raise InvalidCredentials("Token has been invalidated")
        if not hmac.compare_digest(_token_of(secret), token.encode()):
            raise InvalidCredentials("Token does not match server's copy")
        service_account = await self._objects.find("ServiceAccount", account, namespace=namespace)
        if service_account is None:
            raise InvalidCredentials(account_not_found(account))
        if service_account.deleted_seconds is not None:
            raise InvalidCredentials(f"ServiceAccount {namespace}/{account} has been deleted")
        if service_account.uid != uid:
            raise InvalidCredentials(f"ServiceAccount UID ({service_account.uid}) does not match claim ({uid})")
        self._on_use(secret)
        if (secret["metadata"].get("labels") or {}).get(_INVALID_SINCE):
            annotate(f"{_NOTED}legacy-token-invalidated", f"{name}/{namespace}")
            self._metrics.invalid_legacy_auto += 1
            raise InvalidCredentials(
                f"the token in secret {namespace}/{name} for service account {namespace}/{account} has been marked "
                "invalid. Use tokens from the TokenRequest API or manually created secret-based tokens, or remove the "
                f"'{_INVALID_SINCE}' label from the secret to temporarily allow use of this token"
            )
        if name in service_account.secrets:
            annotate(f"{_NOTED}legacy-token-autogenerated-secret", name)
            self._metrics.legacy_auto += 1
            warn(
                "Use tokens from the TokenRequest API or manually created secret-based tokens instead of "
                "auto-generated secret-based tokens."
            )
        else:
            annotate(f"{_NOTED}legacy-token-manual-secret", name)
            self._metrics.legacy_manual += 1
        return UserInfo(user, ("system:serviceaccounts", f"system:serviceaccounts:{namespace}"), uid)


def last_used_patch(secret: Tree, now: datetime) -> Tree | None:
    """Return the merge patch that sets today's last-used label of a Secret; None if it is set.

    Tomorrow's date is accepted, as another writer's clock may be ahead.
    """
    metadata = secret["metadata"]
    last_used = (metadata.get("labels") or {}).get(_LAST_USED)
    if last_used in [(now + timedelta(days=days)).date().isoformat() for days in (0, 1)]:
        return None
    return {"metadata": {"uid": metadata.get("uid"), "labels": {_LAST_USED: now.date().isoformat()}}}


def _text(claims: dict[str, Any], part: str) -> str:
    value = claims.get(_CLAIM + part)
    if not isinstance(value, str) or not value:
        raise InvalidCredentials(f"{_PARTS[part]} claim is missing")
    return value


def _token_of(secret: dict[str, Any]) -> bytes:
    try:
        return base64.b64decode((secret.get("data") or {}).get("token") or "")
    except (binascii.Error, ValueError):
        return b""
