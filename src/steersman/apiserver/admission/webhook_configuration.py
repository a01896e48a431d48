"""Webhooks of configurations, and the index that finds the webhooks for a write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.selectors.labels import from_label_selector
from steersman.apiserver.admission.validating_policy_match import labels_of, matching_resource, selects_object
from steersman.apiserver.webhooks.client import WebhookConfigError, target_of
from steersman.schema.resources import Resource

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.admission.interface import Attributes
    from steersman.apiserver.admission.validating_policy_match import FindResource
    from steersman.apiserver.admission.validating_policy_rules import Expressions
    from steersman.apiserver.webhooks.client import Target

#: Pairs of a label set.
Labels = frozenset[tuple[str, str]]

#: Versions of AdmissionReview that this server sends.
REVIEW_VERSIONS: Final = ("v1", "v1beta1")
_DEFAULT_TIMEOUT_SECONDS: Final = 10
_KEYS_MAX: Final = 4096
#: Label sets of more labels are not remembered.
_LABELS_MAX: Final = 64
_NO_LABELS: Final[Labels] = frozenset()


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

    @property
    def conditions(self) -> Expressions:
        """Return the compiled match conditions."""
        conditions = self._conditions
        if conditions is None:
            from steersman.apiserver.admission.validating_policy_rules import Expressions  # noqa: PLC0415 — loads CEL

            spec = {"matchConditions": self.match_conditions, "failurePolicy": self._failure_policy}
            conditions = self._conditions = Expressions(spec)
        return conditions

    def holds(self, variables: Mapping[str, object]) -> bool:
        """Evaluate the match conditions. Raises ``EvaluationError``."""
        return self.conditions.holds(variables)


def webhooks_of(configuration: Tree) -> tuple[Webhook, ...]:
    """Return the webhooks of a configuration object, in its order."""
    name: str = configuration["metadata"]["name"]
    return tuple(
        Webhook(name, position, webhook) for position, webhook in enumerate(configuration.get("webhooks") or ())
    )


#: A webhook, and the resource in the version in which it gets the object.
Candidate = tuple[Webhook, Resource]


class WebhookIndex:
    """Webhooks by the resource, subresource, operation and scope of writes.

    Rules are evaluated once for each kind of write. Selectors and match conditions depend on the object and are not
    evaluated here.
    """

    __slots__ = ("_candidates", "_exclusions", "_find", "_webhooks")

    def __init__(self, configurations: Sequence[Sequence[Webhook]], find: FindResource) -> None:
        """``configurations``: ordered by name."""
        self._webhooks: Final = [webhook for webhooks in configurations for webhook in webhooks]
        self._find: Final = find
        self._candidates: Final[dict[tuple[str, str, str, str, str, bool], tuple[Candidate, ...]]] = {}
        #: Namespace, and whether selectors exclude all candidates, by candidates, namespace and labels of the objects.
        self._exclusions: Final[dict[tuple[int, str, Labels, Labels], tuple[Tree | None, bool]]] = {}

    def candidates(self, attributes: Attributes) -> tuple[Candidate, ...]:
        """Return the webhooks with a rule for the write, in order."""
        resource = attributes.resource
        key = (
            resource.group,
            resource.version,
            resource.name,
            attributes.subresource,
            attributes.operation.value,
            bool(attributes.namespace),
        )
        candidates = self._candidates.get(key)
        if candidates is None:
            if len(self._candidates) >= _KEYS_MAX:
                self._candidates.clear()
                self._exclusions.clear()
            candidates = self._candidates[key] = tuple(self._match(attributes))
        return candidates

    def are_excluded(self, candidates: tuple[Candidate, ...], attributes: Attributes, namespace: Tree | None) -> bool:
        """True if the selectors of all candidates exclude the write.

        ``candidates``: as returned by this index. ``namespace``: that of the object, the same tree until it changes; None for
        an object without one.
        """
        new, old = _label_set(attributes.object), _label_set(attributes.old_object)
        # The candidates live as long as the index remembers them.
        key = (id(candidates), attributes.namespace, new, old)
        cached = self._exclusions.get(key)
        if cached is not None and cached[0] is namespace:
            return cached[1]
        result = all(_is_excluded(webhook, attributes, namespace) for webhook, _ in candidates)
        if len(new) + len(old) <= _LABELS_MAX:
            if len(self._exclusions) >= _KEYS_MAX:
                self._exclusions.clear()
            self._exclusions[key] = (namespace, result)
        return result

    def _match(self, attributes: Attributes) -> list[Candidate]:
        candidates: list[Candidate] = []
        for webhook in self._webhooks:
            matched = matching_resource(webhook.rules, attributes, self._find, is_equivalent=webhook.is_equivalent)
            if matched is not None:
                candidates.append((webhook, matched))
        return candidates


def _label_set(tree: Tree | None) -> Labels:
    labels = labels_of(tree) if tree is not None else None
    return frozenset(labels.items()) if labels else _NO_LABELS


def _is_excluded(webhook: Webhook, attributes: Attributes, namespace: Tree | None) -> bool:
    if not selects_object(webhook.objects, attributes):
        return True
    return namespace is not None and not webhook.namespaces.matches(labels_of(namespace))
