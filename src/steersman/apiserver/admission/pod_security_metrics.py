"""Counters of Pod Security. Upstream: staging/src/k8s.io/pod-security-admission/metrics/metrics.go."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from steersman.apiserver.kinds.shared.podsecurity.levels import LATEST
from steersman.version import KUBERNETES_VERSION

if TYPE_CHECKING:
    from steersman.apiserver.admission.interface import Attributes
    from steersman.apiserver.kinds.shared.podsecurity.levels import Standard

_MINOR: Final = int(KUBERNETES_VERSION.split(".")[1])


class PodSecurityMetrics:
    """Counters by labels, in the order of the metric's label names."""

    def __init__(self) -> None:
        #: Labels decision, mode, policy_level, policy_version, request_operation, resource, subresource.
        self.evaluations: Final[Counter[tuple[str, str, str, str, str, str, str]]] = Counter()
        #: Labels request_operation, resource, subresource.
        self.exemptions: Final[Counter[tuple[str, str, str]]] = Counter()

    def observe_evaluation(self, attributes: Attributes, mode: str, standard: Standard, *, is_allowed: bool) -> None:
        """Record the evaluation of a pod or template for one mode: ``enforce``, ``audit`` or ``warn``."""
        decision = "allow" if is_allowed else "deny"
        self.evaluations[decision, mode, standard.level, _version_label(standard), *_request_labels(attributes)] += 1

    def observe_exemption(self, attributes: Attributes) -> None:
        """Record a write that is exempt."""
        self.exemptions[_request_labels(attributes)] += 1


def _version_label(standard: Standard) -> str:
    if standard.version == LATEST:
        return "latest"
    return "future" if standard.version > _MINOR else f"v1.{standard.version}"


def _request_labels(attributes: Attributes) -> tuple[str, str, str]:
    resource = "pod" if attributes.group_resource == "pods" else "controller"
    return attributes.operation.value.lower(), resource, attributes.subresource
