"""Counts and durations of encryption, for metrics.

Upstream: staging/src/k8s.io/apiserver/pkg/storage/value/{metrics.go,encrypt/envelope/metrics/metrics.go}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.histogram import Histogram, exponential_bounds

if TYPE_CHECKING:
    from steersman.asynckit.clock import Clock

FROM_STORAGE: Final = "from_storage"
TO_STORAGE: Final = "to_storage"
#: Status of a successful transformation, and of one that failed without a plugin response.
OK: Final = "OK"
UNKNOWN: Final = "unknown-non-grpc"

_TRANSFORMATION_BOUNDS: Final = exponential_bounds(5e-6, 2, 25)
_GENERATION_BOUNDS: Final = exponential_bounds(5e-6, 2, 14)
_OPERATION_BOUNDS: Final = exponential_bounds(1e-4, 2, 20)
#: Maximum number of key IDs; the least recently used are dropped.
_KEYS_MAX: Final = 10


class KeyUse:
    """Uses of one key ID."""

    __slots__ = ("count", "seconds")

    def __init__(self) -> None:
        self.count = 0
        #: Unix time of the last use.
        self.seconds = 0.0


class EncryptionMetrics:
    """Metrics of the encryption of one API server; shared by all of its configurations, stores and plugins."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        #: Durations by resource, type of transformation and prefix; counts also by status.
        self.transformations: dict[tuple[str, str, str, str], int] = {}
        self.durations: dict[tuple[str, str, str], Histogram] = {}
        #: Number of data keys that a plugin has decrypted.
        self.cache_misses = 0
        self.generations: Final = Histogram(_GENERATION_BOUNDS)
        self.failed_generations = 0
        #: By provider, method and status code.
        self.operations: dict[tuple[str, str, str], Histogram] = {}
        #: By type of transformation, provider and key ID.
        self.key_uses: dict[tuple[str, str, str], KeyUse] = {}
        #: Unix time of the last status with a key, by provider and key ID.
        self.key_statuses: dict[tuple[str, str], float] = {}
        #: By provider and reason.
        self.invalid_key_ids: dict[tuple[str, str], int] = {}

    def now(self) -> float:
        """Return the start time of an operation."""
        return self._clock.monotonic()

    def transformed(self, resource: str, kind: str, prefix: str, started: float, status: str = OK) -> None:
        """Record a transformation that began at ``started``."""
        counted = resource, kind, prefix, status
        self.transformations[counted] = self.transformations.get(counted, 0) + 1
        if status == OK:
            labels = resource, kind, prefix
            durations = self.durations.get(labels)
            if durations is None:
                durations = self.durations[labels] = Histogram(_TRANSFORMATION_BOUNDS)
            durations.observe(self._clock.monotonic() - started)

    def operated(self, provider: str, method: str, started: float, status: str = OK) -> None:
        """Record a request to a plugin; ``status`` is grpc-go's name of the code."""
        labels = provider, method, status
        durations = self.operations.get(labels)
        if durations is None:
            durations = self.operations[labels] = Histogram(_OPERATION_BOUNDS)
        durations.observe(self._clock.monotonic() - started)

    def key_used(self, kind: str, provider: str, key_id: str) -> None:
        """Record a transformation with a key of a plugin."""
        labels = kind, provider, key_id
        use = self.key_uses.pop(labels, None) or KeyUse()
        use.count += 1
        use.seconds = self._clock.now().timestamp()
        self.key_uses[labels] = use
        if len(self.key_uses) > _KEYS_MAX:
            del self.key_uses[next(iter(self.key_uses))]

    def key_reported(self, provider: str, key_id: str) -> None:
        """Record the key of a plugin's status."""
        labels = provider, key_id
        self.key_statuses.pop(labels, None)
        self.key_statuses[labels] = self._clock.now().timestamp()
        if len(self.key_statuses) > _KEYS_MAX:
            del self.key_statuses[next(iter(self.key_statuses))]

    def invalid_key_reported(self, provider: str, reason: str) -> None:
        """Record a status with an invalid key ID."""
        labels = provider, reason
        self.invalid_key_ids[labels] = self.invalid_key_ids.get(labels, 0) + 1
