"""Counters of JWT authenticators. Upstream: staging/src/k8s.io/apiserver/plugin/pkg/authenticator/token/oidc/metrics.go"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.label_sets import observe

if TYPE_CHECKING:
    from steersman.apimachinery.histogram import Histogram

_BUCKETS_SECONDS: Final[tuple[float, ...]] = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class JWTMetrics:
    """Durations of authentications and fetches of key sets, by issuer."""

    def __init__(self) -> None:
        #: By result (``success``, ``failure``) and issuer.
        self.latencies: Final[dict[tuple[str, str], Histogram]] = {}
        #: Time in seconds since 1970, by result and issuer.
        self.fetched: Final[dict[tuple[str, str], float]] = {}
        #: Key set by issuer.
        self.key_sets: Final[dict[str, bytes]] = {}

    def authenticated(self, issuer: str, seconds: float, *, is_success: bool) -> None:
        """Record the authentication of a token of the issuer."""
        key = ("success" if is_success else "failure", issuer)
        observe(self.latencies, key, seconds, _BUCKETS_SECONDS)

    def keys_fetched(self, issuer: str, now: float, key_set: bytes | None) -> None:
        """Record a fetch of keys; None: it failed."""
        self.fetched["failure" if key_set is None else "success", issuer] = now
        if key_set is not None:
            self.key_sets[issuer] = key_set

    def forget(self, issuer: str) -> None:
        """Remove the fetches of an issuer that is no longer configured."""
        self.key_sets.pop(issuer, None)
        for result in ("success", "failure"):
            self.fetched.pop((result, issuer), None)
