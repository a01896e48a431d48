"""Index of webhooks: a write that none of them matches costs the same however many there are.

A set of webhooks is an integer with one bit for each. Three sets hold all webhooks that can match a write, and some more:

* those with a rule for its resource, subresource and operation;
* those whose ``namespaceSelector`` matches its namespace, evaluated once until the namespace changes;
* those whose ``objectSelector`` requires a label that the new or the old object has, or requires none.

Only the webhooks in all three are evaluated. Match conditions are not indexed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.codec import encode
from steersman.apimachinery.selectors.labels import Operator
from steersman.apiserver.admission.admission_request import fields_of_kind
from steersman.apiserver.admission.validating_policy_match import labels_of, matching_resource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.apimachinery.selectors.labels import LabelSelector
    from steersman.apiserver.admission.interface import Attributes
    from steersman.apiserver.admission.interface import Operation as WriteOperation
    from steersman.apiserver.admission.validating_policy_match import FindResource
    from steersman.apiserver.admission.webhook_configuration import Webhook
    from steersman.apiserver.generic.served import ServedResource
    from steersman.apiserver.generic.watch_cache import WatchCache
    from steersman.schema.resources import Resource

    WriteKind = tuple[ServedResource, str, WriteOperation]

#: Kinds of writes, and namespaces, whose sets are cached.
_CACHED_MAX: Final = 4096
#: The set of all webhooks.
_ALL: Final = -1


class Candidate:
    """A webhook with a rule for a write."""

    __slots__ = ("_request_fields", "api_version", "matched", "operation", "position", "webhook")

    def __init__(self, webhook: Webhook, matched: Resource, position: int, operation: str) -> None:
        self.webhook: Final = webhook
        #: The resource in the version in which the webhook gets the object.
        self.matched: Final = matched
        self.api_version: Final[str] = matched.api_version
        #: Position among the webhooks of all configurations, the number of its bit.
        self.position: Final = position
        #: Operation of the write, as metrics name it.
        self.operation: Final = operation
        self._request_fields = b""

    def request_fields(self, attributes: Attributes) -> bytes:
        """Return the encoded fields of an AdmissionRequest that all such writes have in common, in braces."""
        fields = self._request_fields
        if not fields:
            fields = self._request_fields = encode(fields_of_kind(attributes, self.matched))
        return fields


class _LabelValues:
    """Selectors that require one label: with any value, or with one of several values."""

    __slots__ = ("any_value", "by_value")

    def __init__(self) -> None:
        self.any_value = 0
        self.by_value: Final[dict[str, int]] = {}


class SelectorIndex:
    """Label selectors by a label that each of them requires."""

    __slots__ = ("_by_key", "unconditional")

    def __init__(self, selectors: Sequence[LabelSelector]) -> None:
        self._by_key: Final[dict[str, _LabelValues]] = {}
        #: The selectors that may match an object without labels.
        self.unconditional = 0
        for position, selector in enumerate(selectors):
            self._add(selector, 1 << position)

    def _add(self, selector: LabelSelector, bit: int) -> None:
        for key, operator, values in selector.requirements:
            if operator in (Operator.EQUALS, Operator.DOUBLE_EQUALS, Operator.IN):
                by_value = self._by_key.setdefault(key, _LabelValues()).by_value
                for value in values:
                    by_value[value] = by_value.get(value, 0) | bit
                return
            if operator is Operator.EXISTS:
                self._by_key.setdefault(key, _LabelValues()).any_value |= bit
                return
        self.unconditional |= bit

    def possible(self, labels: dict[str, str]) -> int:
        """Return the selectors that may match: a superset of those that do."""
        result = self.unconditional
        for key, value in labels.items():
            required = self._by_key.get(key)
            if required is not None:
                result |= required.any_value | required.by_value.get(value, 0)
        return result


class WebhookIndex:
    """The webhooks of all configurations of one kind."""

    __slots__ = ("_find", "_in_namespace", "_namespaces", "_objects", "_of_kind", "webhooks")

    def __init__(
        self, configurations: Sequence[Sequence[Webhook]], find: FindResource, namespaces: WatchCache | None
    ) -> None:
        """``configurations``: ordered by name. ``namespaces``: their changes must be reported to ``forget_namespace``."""
        self.webhooks: Final = [webhook for webhooks in configurations for webhook in webhooks]
        self._find: Final = find
        self._namespaces: Final = namespaces
        self._objects: Final = SelectorIndex([webhook.objects for webhook in self.webhooks])
        #: Webhooks with a rule for a kind of write.
        self._of_kind: Final[dict[WriteKind, tuple[int, tuple[Candidate, ...]]]] = {}
        #: Webhooks whose selector matches a namespace, by its name.
        self._in_namespace: Final[dict[str, int]] = {}

    def candidates(self, attributes: Attributes, *, are_labels_final: bool) -> Sequence[Candidate]:
        """Return the webhooks that can match a write, in order; none if no webhook can.

        ``are_labels_final``: no webhook changes labels of the object, so that others match.
        """
        kind = (attributes.served, attributes.subresource, attributes.operation)
        of_kind = self._of_kind.get(kind)
        if of_kind is None:
            of_kind = self._add_kind(kind, attributes)
        webhooks, candidates = of_kind
        if not webhooks:
            return candidates
        if attributes.namespace and attributes.resource.namespaced:
            webhooks &= self._matching_namespace(attributes.namespace)
        selected = self._select_by_labels(webhooks, attributes)
        if not selected:
            return ()
        if are_labels_final:
            webhooks = selected
        return candidates if webhooks == of_kind[0] else [c for c in candidates if webhooks >> c.position & 1]

    def _add_kind(self, kind: WriteKind, attributes: Attributes) -> tuple[int, tuple[Candidate, ...]]:
        webhooks, candidates = 0, []
        for position, webhook in enumerate(self.webhooks):
            matched = matching_resource(webhook.rules, attributes, self._find, is_equivalent=webhook.is_equivalent)
            if matched is not None:
                webhooks |= 1 << position
                candidates.append(Candidate(webhook, matched, position, attributes.operation.value))
        if len(self._of_kind) >= _CACHED_MAX:
            self._of_kind.clear()
        self._of_kind[kind] = webhooks, tuple(candidates)
        return self._of_kind[kind]

    def _matching_namespace(self, name: str) -> int:
        """Return the webhooks whose selector matches a namespace; all of them while it is unknown."""
        cache = self._namespaces
        if cache is None or not cache.is_ready:
            return _ALL
        webhooks = self._in_namespace.get(name)
        if webhooks is None:
            namespace = cache.get(cache.key("", name))
            if namespace is None:
                return _ALL
            webhooks = 0
            for position, webhook in enumerate(self.webhooks):
                if webhook.namespaces.matches(namespace.labels):
                    webhooks |= 1 << position
            if len(self._in_namespace) >= _CACHED_MAX:
                self._in_namespace.clear()
            self._in_namespace[name] = webhooks
        return webhooks

    def _select_by_labels(self, webhooks: int, attributes: Attributes) -> int:
        """Return those of some webhooks that labels of the object do not exclude."""
        objects = self._objects
        if not webhooks & ~objects.unconditional:
            return webhooks
        possible = 0
        for tree in (attributes.object, attributes.old_object):
            if tree is not None:
                possible |= objects.possible(labels_of(tree))
        return webhooks & possible

    # -- changes of namespaces -----------------------------------------------------------------------------------------

    def forget_namespace(self, name: str) -> None:
        """Evaluate selectors of a namespace again, which has changed."""
        self._in_namespace.pop(name, None)

    def forget_namespaces(self) -> None:
        """Evaluate selectors of all namespaces again."""
        self._in_namespace.clear()
