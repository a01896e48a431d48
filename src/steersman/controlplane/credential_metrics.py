"""Metrics of credentials and of authorizers, under upstream's names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apiserver.observability.metrics import counter, histogram

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.apiserver.observability.metrics import Family
    from steersman.controlplane.authentication.authentication import Authentication
    from steersman.controlplane.authorization.authorization import Authorization


class CredentialMetrics:
    """Collector of the counters of token and certificate authenticators, and of the authorizers."""

    def __init__(self, authentication: Authentication, authorization: Authorization) -> None:
        self._authentication: Final = authentication
        self._authorization: Final = authorization

    async def collect(self) -> Iterable[Family]:
        """Return metrics for ``/metrics``."""
        tokens = self._authentication.token_metrics
        totals = [
            ("valid_tokens", "Verified tokens that were renewed in time.", tokens.valid),
            ("stale_tokens", "Verified tokens that should have been renewed.", tokens.stale),
            ("legacy_tokens", "Verified tokens without audiences.", tokens.legacy),
            ("legacy_auto_token_uses", "Uses of tokens that were generated for a ServiceAccount.", tokens.legacy_auto),
            ("legacy_manual_token_uses", "Uses of tokens of Secrets that users created.", tokens.legacy_manual),
            ("invalid_legacy_auto_token_uses", "Uses of invalidated generated tokens.", tokens.invalid_legacy_auto),
        ]
        decisions = [
            ((("decision", decision), ("name", authorizer.name), ("type", authorizer.mode)), count)
            for authorizer in self._authorization.chain.counted
            for decision, count in (("allowed", authorizer.allowed), ("denied", authorizer.denied))
            if count
        ]
        return [
            *(counter(f"serviceaccount_{name}_total", text, [((), count)]) for name, text, count in totals),
            histogram(
                "apiserver_client_certificate_expiration_seconds",
                "Remaining lifetime of the client certificates of requests, in seconds.",
                [((), self._authentication.certificates.expirations())],
            ),
            counter(
                "apiserver_authorization_decisions_total",
                "Decisions to allow or deny, by authorizer.",
                decisions,
            ),
        ]
