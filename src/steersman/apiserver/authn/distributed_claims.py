"""Distributed claims (OpenID Connect Core 1.0, section 5.6.2): the groups of a token, fetched from another document.

Upstream: ``claimResolver`` of staging/src/k8s.io/apiserver/plugin/pkg/authenticator/token/oidc/oidc.go
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.gotext import quote
from steersman.apiserver.authn import jws
from steersman.apiserver.authn.claim_mapping import invalid
from steersman.apiserver.authn.id_token_verifier import IDTokenVerifier, issuer_of
from steersman.apiserver.authn.interface import InvalidCredentials

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from steersman.apiserver.authn.id_token_verifier import Fetch
    from steersman.asynckit.clock import Clock

_NAMES: Final = "_claim_names"
_SOURCES: Final = "_claim_sources"
#: Seconds for which a fetched claim is used. Upstream caches the token's user for this time.
_CACHED_SECONDS: Final = 10.0
_CACHED_MAX: Final = 1024
#: Issuers of fetched claims whose keys are kept; the oldest is forgotten.
_ISSUERS_MAX: Final = 16


class DistributedClaimError(Exception):
    """The claim cannot be fetched or verified."""


class ClaimResolver:
    """Resolver of one claim. A claim that cannot be fetched or verified rejects the token."""

    def __init__(
        self,
        claim: str,
        fetch: Fetch,
        *,
        audiences: Sequence[str],
        signing_algs: Iterable[str],
        clock: Clock,
        cached_max: int = _CACHED_MAX,
        issuers_max: int = _ISSUERS_MAX,
    ) -> None:
        self._claim: Final = claim
        self._fetch: Final = fetch
        self._audiences: Final = tuple(audiences)
        self._signing_algs: Final = frozenset(signing_algs)
        self._clock: Final = clock
        self._cached_max: Final = cached_max
        self._issuers_max: Final = issuers_max
        #: By issuer, oldest first.
        self._verifiers: Final[dict[str, IDTokenVerifier]] = {}
        #: Value and expiration by digest of the token, oldest first.
        self._cached: Final[dict[bytes, tuple[Any, float]]] = {}

    async def expanded(self, token: str, claims: dict[str, Any]) -> dict[str, Any]:
        """Return the claims of a verified token with the fetched one. Raises ``InvalidCredentials``."""
        try:
            endpoint = self._endpoint(claims)
            if endpoint is None:
                return claims
            return {**claims, self._claim: await self._value(token, *endpoint)}
        except DistributedClaimError as error:
            raise invalid(f"could not expand distributed claims: {error}") from error

    def _endpoint(self, claims: Mapping[str, Any]) -> tuple[str, str] | None:
        """Return URL and access token of the claim; None if the token has it, or names no source. Raises ``DistributedClaimError``."""
        if self._claim in claims or _NAMES not in claims:
            return None
        names = claims[_NAMES]
        if not isinstance(names, dict) or not all(isinstance(source, str) for source in names.values()):
            raise DistributedClaimError("oidc: error parsing distributed claim names")
        if _SOURCES not in claims:
            raise DistributedClaimError("oidc: no claim sources")
        sources = claims[_SOURCES]
        if not isinstance(sources, dict) or not all(isinstance(source, dict) for source in sources.values()):
            raise DistributedClaimError("oidc: could not parse claim sources")
        name = names.get(self._claim)
        if name is None:
            return None
        if name not in sources:
            raise DistributedClaimError(f"id token _claim_names contained a source {name} missing in _claims_sources")
        url, access_token = sources[name].get("endpoint") or "", sources[name].get("access_token") or ""
        if not isinstance(url, str) or not isinstance(access_token, str):
            raise DistributedClaimError("oidc: could not parse claim sources")
        return (url, access_token) if url else None  # without one it may be an aggregated claim

    async def _value(self, token: str, url: str, access_token: str) -> Any:
        """Return the claim's value. Raises ``DistributedClaimError``."""
        key, now = hashlib.sha256(token.encode()).digest(), self._clock.monotonic()
        value, expires = self._cached.get(key, (None, now))
        if now < expires:
            return value
        value = await self._resolve(url, access_token)
        self._cached.pop(key, None)
        while self._cached and (next(iter(self._cached.values()))[1] <= now or len(self._cached) >= self._cached_max):
            del self._cached[next(iter(self._cached))]
        self._cached[key] = (value, now + _CACHED_SECONDS)
        return value

    async def _resolve(self, url: str, access_token: str) -> Any:
        try:
            document = await self._fetch(url, token=access_token)
        except OSError as failure:
            raise DistributedClaimError(f"while getting distributed claim {quote(self._claim)}: {failure}") from failure
        try:
            text = document.decode("ascii").strip()
            unverified = jws.read_unverified(text)
        except ValueError as error:
            raise DistributedClaimError(
                f"getting untrusted issuer from endpoint {url} failed for claim {quote(self._claim)}: {error}"
            ) from error
        issuer = issuer_of(unverified.claims)
        if not isinstance(issuer, str) or not issuer:
            raise DistributedClaimError(f"verifying untrusted issuer {issuer} failed")
        try:
            claims = await self._verifier(issuer).verified(text, unverified.header)
        except InvalidCredentials as refusal:
            raise DistributedClaimError(
                f"verify distributed claim token: {str(refusal).removeprefix('oidc: verify token: ')}"
            ) from refusal
        if self._claim not in claims:
            raise DistributedClaimError(
                f"jwt returned by distributed claim endpoint {quote(url)} did not contain claim: {self._claim}"
            )
        return claims[self._claim]

    def _verifier(self, issuer: str) -> IDTokenVerifier:
        verifier = self._verifiers.get(issuer)
        if verifier is None:
            if len(self._verifiers) >= self._issuers_max:
                del self._verifiers[next(iter(self._verifiers))]
            verifier = self._verifiers[issuer] = IDTokenVerifier(
                issuer,
                self._fetch,
                audiences=self._audiences,
                signing_algs=self._signing_algs,
                clock=self._clock,
            )
        return verifier
