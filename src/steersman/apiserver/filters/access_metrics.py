"""Metrics of authentication and authorization under upstream's names: integers in dicts, as those of requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.histogram import Histogram, exponential_bounds
from steersman.apiserver.observability.metrics import Family, counter, histogram

if TYPE_CHECKING:
    from collections.abc import Iterable

_BUCKETS_SECONDS: Final = exponential_bounds(0.001, 2, 15)
#: Users that have a label value of their own.
_OWN_LABELS: Final = frozenset(
    {"admin", "client", "kube_proxy", "kubelet", "system:serviceaccount:kube-system:default"}
)


class AccessMetrics:
    """Counters of authentications and authorizations by result."""

    def __init__(self) -> None:
        self._authentications: Final[dict[str, Histogram]] = {}
        self._authorizations: Final[dict[str, Histogram]] = {}
        self._users: Final[dict[str, int]] = {}

    def authenticated(self, user_name: str, seconds: float) -> None:
        """Count a request with valid credentials, or an anonymous one."""
        self._observe(self._authentications, "success", seconds)
        label = _user_label(user_name)
        self._users[label] = self._users.get(label, 0) + 1

    def unauthenticated(self, seconds: float, *, is_error: bool) -> None:
        """Count a request that is answered 401. ``is_error``: it has credentials, which are invalid."""
        self._observe(self._authentications, "error" if is_error else "failure", seconds)

    def authorized(self, seconds: float, *, is_allowed: bool) -> None:
        """Count a decision of the authorizer."""
        self._observe(self._authorizations, "allowed" if is_allowed else "denied", seconds)

    @staticmethod
    def _observe(durations: dict[str, Histogram], result: str, seconds: float) -> None:
        values = durations.get(result)
        if values is None:
            values = durations[result] = Histogram(_BUCKETS_SECONDS)
        values.observe(seconds)

    async def collect(self) -> Iterable[Family]:
        """Return metrics for ``/metrics``."""
        users = [((("username", label),), count) for label, count in sorted(self._users.items())]
        return [
            counter("authenticated_user_requests", "Authenticated requests by user.", users),
            *_families("authentication_attempts", "authentication_duration_seconds", self._authentications),
            *_families("authorization_attempts_total", "authorization_duration_seconds", self._authorizations),
        ]


def _families(attempts_name: str, duration_name: str, durations: dict[str, Histogram]) -> list[Family]:
    samples = [((("result", result),), values) for result, values in sorted(durations.items())]
    attempts = [(labels, values.count) for labels, values in samples]
    return [
        counter(attempts_name, "Attempts by result.", attempts),
        histogram(duration_name, "Duration of attempts in seconds, by result.", samples),
    ]


def _user_label(name: str) -> str:
    """Return the label value of a user, which bounds their number. Upstream: ``compressUsername``."""
    if name in _OWN_LABELS:
        return name
    return "email_id" if "@" in name else "other"
