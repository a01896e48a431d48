"""Metrics of delegated authentication and authorization, under the names of ``k8s.io/apiserver``."""

from __future__ import annotations

from collections import Counter as Counts
from typing import TYPE_CHECKING, Final

from prometheus_client import Counter, Histogram
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prometheus_client import CollectorRegistry

#: Seconds, as upstream's ``ExponentialBuckets(0.001, 2, 15)``.
_BUCKETS: Final = tuple(0.001 * 2**exponent for exponent in range(15))
_DELEGATED_BUCKETS: Final = (0.25, 0.5, 0.7, 1.0, 1.5, 3.0, 5.0, 10.0)


class UnsuffixedCounter(Collector):
    """Counter without the suffix ``_total``, which ``prometheus_client`` would append; exposed as untyped."""

    def __init__(self, name: str, text: str, label: str, *, registry: CollectorRegistry) -> None:
        self._name = name
        self._text = text
        self._label = label
        self._counts: Counts[str] = Counts()
        registry.register(self)

    def inc(self, value: str) -> None:
        """Count one event with a value of the label."""
        self._counts[value] += 1

    def collect(self) -> Iterable[Metric]:
        """Return the metric with all its samples."""
        metric = Metric(self._name, self._text, "unknown")
        for value, count in self._counts.items():
            metric.add_sample(self._name, {self._label: value}, count)
        return [metric]


class AccessMetrics:
    """Metrics of one guard."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.users: Final = UnsuffixedCounter(
            "authenticated_user_requests", "Authenticated requests by user", "username", registry=registry
        )
        self.authentications: Final = UnsuffixedCounter(
            "authentication_attempts", "Authentications by result", "result", registry=registry
        )
        self.authentication_seconds: Final = Histogram(
            "authentication_duration_seconds", "Duration of authentications by result", ("result",),
            registry=registry, buckets=_BUCKETS,
        )  # fmt: skip
        self.authorizations: Final = Counter(
            "authorization_attempts_total", "Authorizations by result", ("result",), registry=registry
        )
        self.authorization_seconds: Final = Histogram(
            "authorization_duration_seconds", "Duration of authorizations by result", ("result",),
            registry=registry, buckets=_BUCKETS,
        )  # fmt: skip
        self.token_reviews: Final = Counter(
            "apiserver_delegated_authn_request_total", "TokenReviews by status code", ("code",), registry=registry
        )
        self.token_review_seconds: Final = Histogram(
            "apiserver_delegated_authn_request_duration_seconds", "Duration of TokenReviews by status code", ("code",),
            registry=registry, buckets=_DELEGATED_BUCKETS,
        )  # fmt: skip
        self.access_reviews: Final = Counter(
            "apiserver_delegated_authz_request_total",
            "SubjectAccessReviews by status code",
            ("code",),
            registry=registry,
        )
        self.access_review_seconds: Final = Histogram(
            "apiserver_delegated_authz_request_duration_seconds", "Duration of SubjectAccessReviews by status code",
            ("code",), registry=registry, buckets=_DELEGATED_BUCKETS,
        )  # fmt: skip
        self.token_cache: Final = Counter(
            "authentication_token_cache_request_total", "Look-ups of tokens in the cache by status", ("status",),
            registry=registry,
        )  # fmt: skip
