"""Counters of conversion webhooks.

Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/conversion/metrics.go
"""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import Final

from steersman.apimachinery.histogram import Histogram, exponential_bounds
from steersman.apimachinery.label_sets import count, observe

#: Upper bounds in seconds of calls, and of conversions by definition.
REQUEST_BUCKETS: Final[tuple[float, ...]] = (
    0.005,
    0.01,
    0.02,
    0.05,
    0.1,
    0.2,
    0.5,
    1.0,
    2.0,
    5.0,
    10.0,
    20.0,
    30.0,
    45.0,
    60.0,
)
CONVERSION_BUCKETS: Final[tuple[float, ...]] = exponential_bounds(0.001, 2, 15)


class FailureType(StrEnum):
    """Why a call failed: ``failure_type`` of the metrics."""

    NONE = ""
    CALL = "conversion_webhook_call_failure"
    MALFORMED_RESPONSE = "conversion_webhook_malformed_response_failure"
    PARTIAL_RESPONSE = "conversion_webhook_partial_response_failure"
    INVALID_OBJECT = "conversion_webhook_invalid_converted_object_failure"


class ConversionMetrics:
    """Counters by labels, in the order of the metric's label names."""

    def __init__(self) -> None:
        #: Labels failure_type, result.
        self.requests: Final[Counter[tuple[str, str]]] = Counter()
        #: Labels failure_type, result.
        self.request_durations: Final[dict[tuple[str, str], Histogram]] = {}
        #: Labels crd_name, from_version, succeeded, to_version.
        self.conversion_durations: Final[dict[tuple[str, str, str, str], Histogram]] = {}

    def observe(
        self, definition: str, source: str, target: str, *, seconds: float, failure: FailureType = FailureType.NONE
    ) -> None:
        """Record one call: of which definition, from which version to which, and how it failed."""
        has_failed = failure is not FailureType.NONE
        labels = (failure.value, "failure" if has_failed else "success")
        count(self.requests, labels)
        observe(self.request_durations, labels, seconds, REQUEST_BUCKETS)
        key = (definition, source, "false" if has_failed else "true", target)
        observe(self.conversion_durations, key, seconds, CONVERSION_BUCKETS)
