"""Pod failure policies and success policies of Jobs. Pure rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from steersman.client.objects import key_of
from steersman.controllers.job.indexes import Indexes

if TYPE_CHECKING:
    from lightkube.models.batch_v1 import (
        PodFailurePolicy,
        PodFailurePolicyOnExitCodesRequirement,
        PodFailurePolicyRule,
        SuccessPolicy,
        SuccessPolicyRule,
    )
    from lightkube.models.core_v1 import ContainerStatus, Pod

IGNORE: Final = "Ignore"
FAIL_INDEX: Final = "FailIndex"
FAIL_JOB: Final = "FailJob"


class FailureMatch(NamedTuple):
    """Action and message for one failed Pod."""

    #: Action of the matching rule; empty without a match.
    action: str = ""
    #: Why the Job fails; only for ``FailJob``.
    message: str = ""

    @property
    def counts(self) -> bool:
        """True if the failure counts against backoff limits."""
        return self.action != IGNORE


def match_failure(policy: PodFailurePolicy | None, pod: Pod) -> FailureMatch:
    """Return the action of the first rule that matches a failed Pod."""
    for number, rule in enumerate(policy.rules if policy else ()):
        matched = _match(rule, pod)
        if matched:
            message = f"{matched} matching {rule.action} rule at index {number}" if rule.action == FAIL_JOB else ""
            return FailureMatch(rule.action, message)
    return FailureMatch()


def _match(rule: PodFailurePolicyRule, pod: Pod) -> str:
    """Return the message for a rule that matches the Pod; empty if it does not."""
    if pod.status is None:
        return ""
    if rule.onExitCodes is not None:
        for status in (*(pod.status.containerStatuses or ()), *(pod.status.initContainerStatuses or ())):
            code = _exit_code(status)
            if code and _wants(rule.onExitCodes, status.name, code):
                return f"Container {status.name} for pod {key_of(pod)} failed with exit code {code}"
        return ""
    for condition in pod.status.conditions or ():
        if any(
            pattern.type == condition.type and (pattern.status or "True") == condition.status
            for pattern in rule.onPodConditions or ()
        ):
            return f"Pod {key_of(pod)} has condition {condition.type}"
    return ""


def _exit_code(status: ContainerStatus) -> int:
    """Return the exit code; 0, i.e. no failure, for a container that has not terminated."""
    ended = status.state.terminated if status.state else None
    return ended.exitCode if ended else 0


def _wants(exit_codes: PodFailurePolicyOnExitCodesRequirement, container: str, code: int) -> bool:
    if exit_codes.containerName is not None and exit_codes.containerName != container:
        return False
    return (code in exit_codes.values) is (exit_codes.operator == "In")


def met_success_policy(policy: SuccessPolicy | None, succeeded: Indexes, completions: int) -> str:
    """Return the message for the success policy rule that is met; empty if none is."""
    for number, rule in enumerate(policy.rules if policy else ()):
        if _is_met(rule, succeeded, completions):
            return f"Matched rules at index {number}"
    return ""


def _is_met(rule: SuccessPolicyRule, succeeded: Indexes, completions: int) -> bool:
    if rule.succeededIndexes is None:
        return rule.succeededCount is not None and len(succeeded) >= rule.succeededCount
    required = Indexes.parse(rule.succeededIndexes, completions)
    enough = len(required) if rule.succeededCount is None else rule.succeededCount
    return required.in_common(succeeded) >= enough
