"""Webhooks of configurations, prepared for matching and calling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.selectors.labels import from_label_selector
from steersman.apiserver.kinds.shared.webhook_clients import REVIEW_VERSIONS
from steersman.apiserver.webhooks.client import WebhookConfigError, target_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.admission.validating_policy_rules import Conditions, Expressions
    from steersman.apiserver.webhooks.client import Target
    from steersman.cel.evaluator import Evaluated

_DEFAULT_TIMEOUT_SECONDS: Final = 10


class Webhook:
    """One webhook of a configuration, prepared for matching."""

    def __init__(self, configuration: str, position: int, tree: Tree) -> None:
        self.configuration: Final = configuration
        self.name: Final[str] = tree.get("name") or ""
        #: Identifies the webhook among all configurations, whose webhooks may share names.
        self.uid: Final = f"{configuration}/{self.name}/{position}"
        self.rules: Final[Sequence[Tree]] = tree.get("rules") or ()
        self.is_equivalent: Final = tree.get("matchPolicy") != "Exact"
        self.ignores_failures: Final = tree.get("failurePolicy") == "Ignore"
        self.timeout_seconds: Final[int] = tree.get("timeoutSeconds") or _DEFAULT_TIMEOUT_SECONDS
        self.has_dry_run: Final = tree.get("sideEffects") in ("None", "NoneOnDryRun")
        self.is_reinvoked: Final = tree.get("reinvocationPolicy") == "IfNeeded"
        self.namespaces: Final = from_label_selector(tree.get("namespaceSelector") or {})
        self.objects: Final = from_label_selector(tree.get("objectSelector") or {})
        self.match_conditions: Final[Sequence[Tree]] = tree.get("matchConditions") or ()
        versions = tree.get("admissionReviewVersions") or ()
        #: First version in ``admissionReviewVersions`` that this server supports; empty without one.
        self.review_version: Final[str] = next((version for version in versions if version in REVIEW_VERSIONS), "")
        self._failure_policy: Final = tree.get("failurePolicy")
        self._client_config: Final[Tree] = tree.get("clientConfig") or {}
        self._target: Target | None = None
        self._conditions: Expressions | None = None

    @property
    def target(self) -> Target:
        """Return the address of the webhook. Raises ``WebhookConfigError``."""
        target = self._target
        if target is None:
            try:
                target = self._target = target_of(self._client_config)
            except (KeyError, TypeError) as error:
                raise WebhookConfigError(f"incomplete client configuration: {error}") from None
        return target

    def evaluate_conditions(
        self, variables: Mapping[str, object], monotonic: Callable[[], float], results: dict[str, Evaluated]
    ) -> Conditions | None:
        """Evaluate the match conditions; see ``Expressions.evaluate_conditions``."""
        conditions = self._conditions
        if conditions is None:
            from steersman.apiserver.admission.validating_policy_rules import Expressions  # noqa: PLC0415 — loads CEL

            spec = {"matchConditions": self.match_conditions, "failurePolicy": self._failure_policy}
            conditions = self._conditions = Expressions(spec)
        return conditions.evaluate_conditions(variables, monotonic, results)


def webhooks_of(configuration: Tree) -> tuple[Webhook, ...]:
    """Return the webhooks of a configuration object, in its order."""
    name: str = configuration["metadata"]["name"]
    return tuple(
        Webhook(name, position, webhook) for position, webhook in enumerate(configuration.get("webhooks") or ())
    )
