"""Durations of policy checks. Upstream: ``metrics`` of plugin/policy/validating and plugin/policy/mutating."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.label_sets import observe
from steersman.apiserver.admission.condition_metrics import ConditionMetrics

if TYPE_CHECKING:
    from steersman.apimachinery.histogram import Histogram

#: Upper bounds in seconds.
BUCKETS: Final[tuple[float, ...]] = (0.0000005, 0.001, 0.01, 0.1, 1.0)
NO_ERROR: Final = "no_error"


def error_type(message: str) -> str:
    """Return the label ``error_type`` of a check that failed with a message. Upstream: ``ErrorType``."""
    if message.startswith("compilation"):
        return "compile_error"
    if message.startswith("validation failed due to running out of cost budget"):
        return "out_of_budget"
    return "invalid_error"


class PolicyMetrics:
    """Durations by labels, in the order of the metric's label names."""

    def __init__(self, conditions: ConditionMetrics | None = None) -> None:
        self.conditions: Final = conditions or ConditionMetrics()
        #: Labels enforcement_action, error_type, policy, policy_binding.
        self.validations: Final[dict[tuple[str, str, str, str], Histogram]] = {}
        #: Labels error_type, policy, policy_binding.
        self.mutations: Final[dict[tuple[str, str, str], Histogram]] = {}

    def observe_validation(self, action: str, error: str, policy: str, binding: str, seconds: float) -> None:
        """Record a failed validation; ``action``: ``deny``, ``audit``, ``warn``, or ``allow`` for an ignored error."""
        observe(self.validations, (action, error, policy, binding), seconds, BUCKETS)

    def observe_mutation(self, error: str, policy: str, binding: str, seconds: float) -> None:
        """Record a mutation, whether it failed or not."""
        observe(self.mutations, (error, policy, binding), seconds, BUCKETS)
