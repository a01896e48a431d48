"""Counters of webhook calls. Upstream: staging/src/k8s.io/apiserver/pkg/admission/metrics/metrics.go."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.label_sets import count, observe
from steersman.apiserver.admission.condition_metrics import ConditionMetrics

if TYPE_CHECKING:
    from steersman.apimachinery.histogram import Histogram

#: Upper bounds of the latency histogram, in seconds.
BUCKETS: Final[tuple[float, ...]] = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0, 25.0)
_CODE_MAX: Final = 600


class RejectionError(StrEnum):
    """Why a write was rejected: ``error_type`` of the rejection counter."""

    CALLING_WEBHOOK = "calling_webhook_error"
    API_SERVER_INTERNAL = "apiserver_internal_error"
    NONE = "no_error"


class WebhookMetrics:
    """Counters by labels, in the order of the metric's label names."""

    def __init__(self, conditions: ConditionMetrics | None = None) -> None:
        self.conditions: Final = conditions or ConditionMetrics()
        #: Labels name, operation, rejected, type.
        self.durations: Final[dict[tuple[str, str, str, str], Histogram]] = {}
        #: Labels code, name, operation, rejected, type.
        self.requests: Final[Counter[tuple[str, str, str, str, str]]] = Counter()
        #: Labels error_type, name, operation, rejection_code, type.
        self.rejections: Final[Counter[tuple[str, str, str, str, str]]] = Counter()
        #: Labels name, type.
        self.fail_open: Final[Counter[tuple[str, str]]] = Counter()

    def observe_call(
        self, name: str, kind: str, operation: str, *, seconds: float, is_rejected: bool, code: int
    ) -> None:
        """Record one call; ``kind`` is ``admit`` or ``validating``."""
        rejected = "true" if is_rejected else "false"
        labels = (name, operation, rejected, kind)
        observe(self.durations, labels, seconds, BUCKETS)
        count(self.requests, (str(min(code, _CODE_MAX)), name, operation, rejected, kind))

    def observe_rejection(self, name: str, kind: str, operation: str, error: RejectionError, code: int) -> None:
        """Record one rejected write."""
        count(self.rejections, (error.value, name, operation, str(min(code, _CODE_MAX)), kind))

    def observe_fail_open(self, name: str, kind: str) -> None:
        """Record one failure that ``failurePolicy: Ignore`` covers."""
        count(self.fail_open, (name, kind))
