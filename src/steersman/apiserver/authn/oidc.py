"""``--oidc-*``: tokens of an OpenID Connect provider. Upstream: ``plugin/pkg/auth/authenticator/token/oidc``.

The provider's keys are fetched with its first token, and again for an unknown key ID, at most once in
``_REFRESH_SECONDS``: tokens with random key IDs must not cause a flood of requests.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.apiserver.authn import jws
from steersman.apiserver.authn.interface import InvalidCredentials, review_for_server
from steersman.apiserver.request import UserInfo

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from steersman.apiserver.authn.interface import Reviewed
    from steersman.asynckit.clock import Clock

    Fetch = Callable[[str], Awaitable[bytes]]

_log = logging.getLogger(__name__)

#: Supported signing algorithms.
ALGORITHMS: Final = frozenset(f"{kind}{bits}" for kind in ("RS", "PS", "ES") for bits in (256, 384, 512))
_REFRESH_SECONDS: Final = 10.0
#: Clock skew for ``nbf``, as in upstream's library.
_EARLY_SECONDS: Final = 300.0
_DISCOVERY: Final = "/.well-known/openid-configuration"
_CREDENTIAL: Final = "authentication.kubernetes.io/credential-id"


class OIDCOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of one provider: issuer, keys and the mapping of claims to users."""

    #: ``https://`` URL.
    issuer_url: str
    client_id: str
    username_claim: str = "sub"
    #: Prefix of user names; empty: the issuer and ``#`` (except for e-mail addresses), ``-``: none.
    username_prefix: str = ""
    groups_claim: str = ""
    groups_prefix: str = ""
    #: Required claims and values.
    required_claims: dict[str, str] = {}
    signing_algs: tuple[str, ...] = ("RS256",)

    @property
    def prefix(self) -> str:
        """Return the prefix of user names."""
        if self.username_prefix:
            return "" if self.username_prefix == "-" else self.username_prefix
        return "" if self.username_claim == "email" else f"{self.issuer_url}#"


class OIDCTokens:
    """Token authenticator of one provider. ``fetch`` returns a document by URL; it may raise ``OSError``."""

    def __init__(self, options: OIDCOptions, fetch: Fetch, *, audiences: Sequence[str], clock: Clock) -> None:
        self._options: Final = options
        self._fetch: Final = fetch
        self._audiences: Final = tuple(audiences)
        self._clock: Final = clock
        self._fetching: Final = asyncio.Lock()
        self._keys: list[jws.VerifyingKey] = []
        self._fetched_seconds: float | None = None

    async def authenticate_token(self, token: str) -> UserInfo | None:
        """Return the user; None for tokens of other issuers. Raises ``InvalidCredentials``."""
        if not jws.looks_signed(token):
            return None
        try:
            unverified = jws.read_unverified(token)
        except jws.MalformedTokenError:
            return None
        if unverified.issuer != self._options.issuer_url:
            return None
        claims = await self._verified_claims(token, unverified.header)
        if claims is None:
            raise _invalid("failed to verify signature")
        self._check(claims)
        return self._user(claims)

    async def review(self, token: str, audiences: Sequence[str]) -> Reviewed | None:
        """Review a token; OIDC tokens are valid for this server's audiences only."""
        return await review_for_server(self, token, audiences, own=self._audiences)

    # -- keys ----------------------------------------------------------------------------------------------------------

    async def _verified_claims(self, token: str, header: jws.Header) -> dict[str, Any] | None:
        """Return the claims of a token signed by the provider, fetching its keys if the key is unknown."""
        if header.alg not in self._options.signing_algs:
            return None
        claims = self._claims_by_known_keys(token, header)
        if claims is None and await self._refresh():
            claims = self._claims_by_known_keys(token, header)
        return claims

    def _claims_by_known_keys(self, token: str, header: jws.Header) -> dict[str, Any] | None:
        for key in self._keys:
            if key.algorithm == header.alg and (not header.kid or key.kid in ("", header.kid)):
                claims = key.verified_claims(token)
                if claims is not None:
                    return claims
        return None

    async def _refresh(self) -> bool:
        """Fetch the keys, unless fetched recently. Returns whether keys are new."""
        before = self._fetched_seconds
        async with self._fetching:
            if self._fetched_seconds != before:
                return True  # another task has fetched them while this one waited
            now = self._clock.monotonic()
            if before is not None and now - before < _REFRESH_SECONDS:
                return False
            self._fetched_seconds = now
            try:
                self._keys = await self._read_keys()
            except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError, KeyError, TypeError) as error:
                _log.warning("cannot get the keys of %s: %s", self._options.issuer_url, error)
                return False
            return True

    async def _read_keys(self) -> list[jws.VerifyingKey]:
        from steersman.apiserver.authn.keys import read_jwk  # noqa: PLC0415 — loads cryptography

        url = self._options.issuer_url
        document = msgspec.json.decode(await self._fetch(url.rstrip("/") + _DISCOVERY))
        if document["issuer"] != url:
            raise OSError(f"the provider calls itself {document['issuer']}")
        listed = msgspec.json.decode(await self._fetch(document["jwks_uri"]))["keys"]
        return [key for jwk in listed for key in await asyncio.to_thread(read_jwk, jwk)]

    # -- claims --------------------------------------------------------------------------------------------------------

    def _check(self, claims: Mapping[str, Any]) -> None:
        """Validate times, audience and required claims. Raises ``InvalidCredentials``."""
        audience = claims.get("aud")
        if self._options.client_id not in (audience if isinstance(audience, list) else [audience]):
            raise _invalid("the token is not for this client")
        now = self._clock.now().timestamp()
        expires, begins = claims.get("exp"), claims.get("nbf")
        if not isinstance(expires, (int, float)) or expires < now:
            raise _invalid("token is expired")
        if isinstance(begins, (int, float)) and begins > now + _EARLY_SECONDS:
            raise _invalid("token is not valid yet")
        for name, value in self._options.required_claims.items():
            if claims.get(name) != value:
                raise _invalid(f"required claim {name} does not have the value that is asked for")

    def _user(self, claims: Mapping[str, Any]) -> UserInfo:
        options = self._options
        name = claims.get(options.username_claim)
        if not isinstance(name, str) or not name:
            raise _invalid(f"the claim {options.username_claim} names no user")
        if options.username_claim == "email" and claims.get("email_verified", True) is not True:
            raise _invalid("email not verified")
        extra: dict[str, tuple[str, ...]] = {}
        if isinstance(claims.get("jti"), str):
            extra[_CREDENTIAL] = (f"JTI={claims['jti']}",)
        return UserInfo(options.prefix + name, self._groups(claims), extra=extra)

    def _groups(self, claims: Mapping[str, Any]) -> tuple[str, ...]:
        claim = claims.get(self._options.groups_claim) if self._options.groups_claim else None
        groups = [claim] if isinstance(claim, str) else claim or []
        if not isinstance(groups, list) or not all(isinstance(group, str) for group in groups):
            raise _invalid(f"the claim {self._options.groups_claim} names no groups")
        return tuple(self._options.groups_prefix + group for group in groups)


def _invalid(reason: str) -> InvalidCredentials:
    return InvalidCredentials(f"oidc: {reason}")
