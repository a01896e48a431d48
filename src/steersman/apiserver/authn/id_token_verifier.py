"""Verification of the ID tokens of one OpenID Connect provider: signature, issuer, audience and times.

Upstream: ``idTokenVerifier`` of staging/src/k8s.io/apiserver/plugin/pkg/authenticator/token/oidc/oidc.go, and the library
``github.com/coreos/go-oidc`` below it.

A provider's keys are fetched with its first token, and again for an unknown key ID, at most once in
``_REFRESH_SECONDS``: tokens with random key IDs must not cause a flood of requests.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from steersman.apimachinery.gotext import quote
from steersman.apiserver.authn.claim_mapping import invalid

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from steersman.apiserver.authn import jws
    from steersman.apiserver.authn.interface import InvalidCredentials
    from steersman.apiserver.authn.jwt_metrics import JWTMetrics
    from steersman.asynckit.clock import Clock

_log = logging.getLogger(__name__)

#: Supported signing algorithms. Upstream: ``AllValidSigningAlgorithms``.
ALGORITHMS: Final = frozenset(f"{kind}{bits}" for kind in ("RS", "PS", "ES") for bits in (256, 384, 512))
_REFRESH_SECONDS: Final = 10.0
#: Clock skew for ``nbf``, as in upstream's library.
_EARLY_SECONDS: Final = 300.0
_DISCOVERY: Final = "/.well-known/openid-configuration"
#: Issuer that Google's tokens may name without the scheme.
_GOOGLE: Final = "https://accounts.google.com"


class Fetch(Protocol):
    """Download of documents by URL."""

    async def __call__(self, url: str, *, token: str = "") -> bytes:
        """Return the document. ``token``: bearer token of the request. Raises ``OSError``."""


class IDTokenVerifier:
    """Verifier of the tokens of one issuer, for any of some audiences."""

    def __init__(
        self,
        issuer: str,
        fetch: Fetch,
        *,
        audiences: Sequence[str],
        signing_algs: Iterable[str],
        clock: Clock,
        discovery_url: str = "",
        metrics: JWTMetrics | None = None,
    ) -> None:
        """``discovery_url``: default below the issuer. ``metrics`` counts fetches of keys."""
        self.issuer: Final = issuer
        self._discovery_url: Final = discovery_url or issuer.rstrip("/") + _DISCOVERY
        self._audiences: Final = tuple(audiences)
        self._fetch: Final = fetch
        self._signing_algs: Final = frozenset(signing_algs)
        self._clock: Final = clock
        self._metrics: Final = metrics
        self._fetching: Final = asyncio.Lock()
        self._keys: list[jws.VerifyingKey] = []
        self._fetched_seconds: float | None = None

    async def verified(self, token: str, header: jws.Header) -> dict[str, Any]:
        """Return the claims of a valid token. Raises ``InvalidCredentials``."""
        claims = await self._verified_claims(token, header)
        self._check(claims)
        return claims

    # -- keys ----------------------------------------------------------------------------------------------------------

    async def _verified_claims(self, token: str, header: jws.Header) -> dict[str, Any]:
        """Return the claims of a token signed by the provider, fetching its keys if the key is unknown."""
        if header.alg not in self._signing_algs:
            expected = " ".join(quote(name) for name in sorted(self._signing_algs))
            raise _unverified(
                f"oidc: id token signed with unsupported algorithm, expected [{expected}] got {quote(header.alg)}"
            )
        claims = self._claims_by_known_keys(token, header)
        if claims is None and await self._refresh():
            claims = self._claims_by_known_keys(token, header)
        if claims is None:
            raise _unverified("failed to verify signature: failed to verify id token signature")
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
            try:
                await self._fetch_keys()
            except OSError as error:
                _log.warning("cannot get the keys of %s: %s", self.issuer, error)
                return False
            return True

    async def initialize(self) -> None:
        """Fetch the keys. Raises ``OSError``."""
        async with self._fetching:
            await self._fetch_keys()

    async def _fetch_keys(self) -> None:
        self._fetched_seconds = self._clock.monotonic()
        try:
            document = await self._fetch(self._discovery_url)
            keys, key_set = await self._read_keys(document)
        except OSError:
            self._note_fetch(None)
            raise
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, KeyError, TypeError) as error:
            self._note_fetch(None)
            raise OSError(f"{type(error).__name__}: {error}") from error
        self._keys = keys
        self._note_fetch(key_set)

    def _note_fetch(self, key_set: bytes | None) -> None:
        if self._metrics is not None:
            self._metrics.keys_fetched(self.issuer, self._clock.now().timestamp(), key_set)

    async def _read_keys(self, discovery: bytes) -> tuple[list[jws.VerifyingKey], bytes]:
        from steersman.apiserver.authn.keys import read_jwk  # noqa: PLC0415 — loads cryptography

        document = msgspec.json.decode(discovery)
        if document["issuer"] != self.issuer:
            expected, actual = quote(self.issuer), quote(str(document["issuer"]))
            raise OSError(
                f"oidc: issuer did not match the issuer returned by provider, expected {expected} got {actual}"
            )
        key_set = await self._fetch(document["jwks_uri"])
        listed = msgspec.json.decode(key_set)["keys"]
        return [key for jwk in listed for key in await asyncio.to_thread(read_jwk, jwk)], key_set

    # -- claims --------------------------------------------------------------------------------------------------------

    def _check(self, claims: Mapping[str, Any]) -> None:
        """Validate issuer, times and audience of verified claims. Raises ``InvalidCredentials``."""
        if issuer_of(claims) != self.issuer:
            raise _unverified("oidc: id token issued by a different provider")
        audience = claims.get("aud")
        audiences = audience if isinstance(audience, list) else [audience]
        if not any(name in audiences for name in self._audiences):
            raise _unverified(f"oidc: expected audience in {_listed(sorted(self._audiences))} got {_listed(audiences)}")
        now = self._clock.now().timestamp()
        expires, begins = _seconds(claims, "exp"), _seconds(claims, "nbf")
        if expires is None or expires < now:
            raise _unverified(f"oidc: token is expired (Token Expiry: {_time_text(expires)})")
        if begins is not None and begins > now + _EARLY_SECONDS:
            raise _unverified(
                f"oidc: current time {_time_text(now)} before the nbf (not before) time: {_time_text(begins)}"
            )


def issuer_of(claims: Mapping[str, Any]) -> Any:
    """Return the claim ``iss``. Upstream: ``untrustedIssuer``, which completes Google's."""
    issuer = claims.get("iss")
    return _GOOGLE if issuer == _GOOGLE.removeprefix("https://") else issuer


def _unverified(reason: str) -> InvalidCredentials:
    return invalid(f"verify token: {reason}")


def _seconds(claims: Mapping[str, Any], name: str) -> float | None:
    value = claims.get(name)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _listed(values: Sequence[Any]) -> str:
    """Return a list as Go's ``%q`` prints it."""
    return f"[{' '.join(quote(value) for value in values if isinstance(value, str))}]"


def _time_text(seconds: float | None) -> str:
    """Return a time as Go prints it; the zero time if there is none."""
    if seconds is None:
        return "0001-01-01 00:00:00 +0000 UTC"
    try:
        time = datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return str(seconds)
    return f"{time:%Y-%m-%d %H:%M:%S} +0000 UTC"
