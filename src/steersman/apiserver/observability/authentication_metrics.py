"""Metrics of JWT authenticators and of token webhooks in the Prometheus format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.label_sets import hash_label
from steersman.apiserver.observability.metrics import counter, gauge, histogram, labelled

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.apiserver.authn.jwt_metrics import JWTMetrics
    from steersman.apiserver.authn.token_cache import TokenCacheMetrics
    from steersman.apiserver.authn.webhook_metrics import TokenReviewMetrics
    from steersman.apiserver.observability.metrics import Family

_JWT: Final = "apiserver_authentication_jwt_authenticator"
_REVIEW: Final = "apiserver_delegated_authn_request"
_CACHE: Final = "authentication_token_cache"


class JWTMetricsCollector:
    """Collector of the durations and fetches of ``JWTMetrics``. Issuers and keys are shown by their hashes."""

    def __init__(self, metrics: JWTMetrics, *, server_id: str) -> None:
        """``server_id``: ID of the API server."""
        self._metrics: Final = metrics
        self._server: Final = ("apiserver_id_hash", hash_label(server_id.encode()))

    async def collect(self) -> Iterable[Family]:
        """Return the families."""
        metrics = self._metrics
        return [
            histogram(
                f"{_JWT}_latency_seconds",
                "Duration of the authentication of JSON Web Tokens in seconds, by result and issuer.",
                [
                    ((("result", result), _issuer(issuer)), latency)
                    for (result, issuer), latency in sorted(metrics.latencies.items())
                ],
            ),
            gauge(
                f"{_JWT}_jwks_fetch_last_timestamp_seconds",
                "Time of the last fetch of an issuer's keys, by result.",
                [
                    ((("result", result), _issuer(issuer), self._server), seconds)
                    for (result, issuer), seconds in sorted(metrics.fetched.items())
                ],
            ),
            gauge(
                f"{_JWT}_jwks_fetch_last_key_set_info",
                "Hash of the last keys of an issuer.",
                [
                    ((_issuer(issuer), self._server, ("hash", hash_label(key_set))), 1)
                    for issuer, key_set in sorted(metrics.key_sets.items())
                ],
            ),
        ]


def _issuer(url: str) -> tuple[str, str]:
    return ("jwt_issuer_hash", hash_label(url.encode()))


class TokenWebhookMetricsCollector:
    """Collector of the durations of ``TokenReviewMetrics`` and of the counters of ``TokenCacheMetrics``."""

    def __init__(self, reviews: TokenReviewMetrics, cache: TokenCacheMetrics) -> None:
        self._reviews: Final = reviews
        self._cache: Final = cache

    async def collect(self) -> Iterable[Family]:
        """Return the families."""
        attempts = labelled(("code",), self._reviews.durations)
        requests = labelled(("status",), self._cache.requests)
        return [
            counter(
                f"{_REVIEW}_total",
                "Requests of token reviews, by status code.",
                [(labels, durations.count) for labels, durations in attempts],
            ),
            histogram(
                f"{_REVIEW}_duration_seconds",
                "Duration of requests of token reviews in seconds, by status code.",
                attempts,
            ),
            counter(
                f"{_CACHE}_request_total",
                "Look-ups of tokens in the cache, by status.",
                [(labels, durations.count) for labels, durations in requests],
            ),
            histogram(
                f"{_CACHE}_request_duration_seconds",
                "Duration of look-ups of tokens in seconds, by status.",
                requests,
            ),
            counter(
                f"{_CACHE}_fetch_total",
                "Token reviews by result.",
                labelled(("status",), self._cache.fetches),
            ),
            gauge(
                f"{_CACHE}_active_fetch_count",
                "Running token reviews, and requests that wait for one.",
                [((("status", "blocked"),), self._cache.blocked), ((("status", "in_flight"),), self._cache.in_flight)],
            ),
        ]
