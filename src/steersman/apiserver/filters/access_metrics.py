"""Metrics of authentication and authorization under upstream's names: integers in dicts, as those of requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.histogram import Histogram, exponential_bounds
from steersman.apiserver.observability.metrics import Family, counter, histogram

if TYPE_CHECKING:
    from collections.abc import Iterable

_BUCKETS_SECONDS: Final = exponential_bounds(0.001, 2, 15)
#: Users that have a label value of their own. Upstream: ``compressUsername``.
_OWN_LABELS: Final = frozenset(
    {"admin", "client", "kube_proxy", "kubelet", "system:serviceaccount:kube-system:default"}
)


class AccessMetrics:
    """Counters of authentications and authorizations by result."""

    def __init__(self) -> None:
        self._success: Final = Histogram(_BUCKETS_SECONDS)
        self._failure: Final = Histogram(_BUCKETS_SECONDS)
        self._error: Final = Histogram(_BUCKETS_SECONDS)
        self._allowed: Final = Histogram(_BUCKETS_SECONDS)
        self._denied: Final = Histogram(_BUCKETS_SECONDS)
        self._undecided: Final = Histogram(_BUCKETS_SECONDS)
        #: Requests of users by label; the rest have the label ``other``.
        self._users: Final[dict[str, int]] = {}

    def authenticated(self, user_name: str, seconds: float) -> None:
        """Count a request with valid credentials, or an anonymous one."""
        self._success.observe(seconds)
        if user_name in _OWN_LABELS or "@" in user_name:
            label = user_name if user_name in _OWN_LABELS else "email_id"
            self._users[label] = self._users.get(label, 0) + 1

    def unauthenticated(self, seconds: float, *, is_error: bool) -> None:
        """Count a request that is answered 401. ``is_error``: it has credentials, which are invalid."""
        (self._error if is_error else self._failure).observe(seconds)

    def authorized(self, seconds: float, *, is_allowed: bool, is_error: bool = False) -> None:
        """Count a decision of the authorizer. ``is_error``: an error kept it from allowing."""
        (self._undecided if is_error else self._allowed if is_allowed else self._denied).observe(seconds)

    async def collect(self) -> Iterable[Family]:
        """Return metrics for ``/metrics``."""
        counts = {**self._users, "other": self._success.count - sum(self._users.values())}
        users = [((("username", label),), count) for label, count in sorted(counts.items()) if count]
        return [
            counter("authenticated_user_requests", "Authenticated requests by user.", users),
            *_families(
                "authentication_attempts",
                "authentication_duration_seconds",
                {"error": self._error, "failure": self._failure, "success": self._success},
            ),
            *_families(
                "authorization_attempts_total",
                "authorization_duration_seconds",
                {"allowed": self._allowed, "denied": self._denied, "error": self._undecided},
            ),
        ]


def _families(attempts_name: str, duration_name: str, durations: dict[str, Histogram]) -> list[Family]:
    samples = [((("result", result),), values) for result, values in durations.items() if values.count]
    attempts = [(labels, values.count) for labels, values in samples]
    return [
        counter(attempts_name, "Attempts by result.", attempts),
        histogram(duration_name, "Duration of attempts in seconds, by result.", samples),
    ]
