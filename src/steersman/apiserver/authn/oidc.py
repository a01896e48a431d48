"""JWT authenticators: tokens of OpenID Connect providers.

Upstream: staging/src/k8s.io/apiserver/plugin/pkg/authenticator/token/oidc/oidc.go
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apiserver.authn import jws
from steersman.apiserver.authn.distributed_claims import ClaimResolver
from steersman.apiserver.authn.id_token_verifier import IDTokenVerifier, issuer_of
from steersman.apiserver.authn.interface import review_for_server
from steersman.apiserver.workers import with_allowance

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from steersman.apiserver.authn.authentication_configuration import JWTAuthenticatorConfig
    from steersman.apiserver.authn.claim_mapping import ClaimMapper
    from steersman.apiserver.authn.id_token_verifier import Fetch
    from steersman.apiserver.authn.interface import Reviewed
    from steersman.apiserver.authn.jwt_metrics import JWTMetrics
    from steersman.apiserver.request import UserInfo
    from steersman.asynckit.clock import Clock


class JWTAuthenticator:
    """Authenticator of the tokens of one issuer. ``fetch`` returns a document by URL; it may raise ``OSError``."""

    def __init__(
        self,
        config: JWTAuthenticatorConfig,
        mapper: ClaimMapper,
        fetch: Fetch,
        *,
        signing_algs: Iterable[str],
        clock: Clock,
        metrics: JWTMetrics,
    ) -> None:
        issuer = config.issuer
        self.issuer: Final = issuer.url
        self._mapper: Final = mapper
        self._clock: Final = clock
        self._metrics: Final = metrics
        self._verifier: Final = IDTokenVerifier(
            issuer.url,
            fetch,
            audiences=issuer.audiences,
            signing_algs=signing_algs,
            clock=clock,
            discovery_url=issuer.discovery_url,
            metrics=metrics,
        )
        groups_claim = config.claim_mappings.groups.claim
        self._resolver: Final = (
            ClaimResolver(groups_claim, fetch, audiences=issuer.audiences, signing_algs=signing_algs, clock=clock)
            if groups_claim
            else None
        )

    async def initialize(self) -> None:
        """Fetch the provider's keys. Raises ``OSError``."""
        await self._verifier.initialize()

    async def authenticate(self, token: str, header: jws.Header) -> UserInfo:
        """Return the user of a token of this issuer. Raises ``InvalidCredentials``."""
        started = self._clock.monotonic()
        is_success = False
        try:
            claims = await self._verifier.verified(token, header)
            if self._resolver is not None:
                claims = await self._resolver.expanded(token, claims)
            user = await with_allowance(self._mapper.user, claims)
            is_success = True
            return user
        finally:
            self._metrics.authenticated(self.issuer, self._clock.monotonic() - started, is_success=is_success)


class JWTAuthenticators:
    """Token authenticator of all configured issuers, which can be replaced."""

    def __init__(self, authenticators: Iterable[JWTAuthenticator], *, audiences: Sequence[str]) -> None:
        """``audiences``: audiences of this server."""
        self._by_issuer = {authenticator.issuer: authenticator for authenticator in authenticators}
        self._audiences: Final = tuple(audiences)

    @property
    def issuers(self) -> frozenset[str]:
        """URLs of the issuers."""
        return frozenset(self._by_issuer)

    def replace(self, authenticators: Iterable[JWTAuthenticator]) -> None:
        """Use other authenticators from the next token on."""
        self._by_issuer = {authenticator.issuer: authenticator for authenticator in authenticators}

    async def authenticate_token(self, token: str) -> UserInfo | None:
        """Return the user; None for tokens of other issuers. Raises ``InvalidCredentials``."""
        if not self._by_issuer or not jws.looks_signed(token):
            return None
        try:
            unverified = jws.read_unverified(token)
        except jws.MalformedTokenError:
            return None
        issuer = issuer_of(unverified.claims)
        authenticator = self._by_issuer.get(issuer) if isinstance(issuer, str) else None
        return None if authenticator is None else await authenticator.authenticate(token, unverified.header)

    async def review(self, token: str, audiences: Sequence[str]) -> Reviewed | None:
        """Review a token; these tokens are valid for this server's audiences only."""
        return await review_for_server(self, token, audiences, own=self._audiences)
