"""Matching of policies and bindings: resource rules, and selectors of namespaces and objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.errors import not_found
from steersman.apimachinery.selectors.labels import from_label_selector
from steersman.apiserver.admission.interface import Operation

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from steersman.apimachinery.selectors.labels import LabelSelector
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.admission.interface import Attributes
    from steersman.schema.resources import Resource

    #: Return a namespace by name; None if it does not exist.
    FindNamespace = Callable[[str], Awaitable[Tree | None]]
    #: Return a resource by group, version and name.
    FindResource = Callable[[str, str, str], Resource | None]

#: Admission policies and their bindings, which policies and webhooks could otherwise protect from repair.
_POLICIES: Final = frozenset(
    (
        "mutatingadmissionpolicies.admissionregistration.k8s.io",
        "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
        "validatingadmissionpolicies.admissionregistration.k8s.io",
        "validatingadmissionpolicybindings.admissionregistration.k8s.io",
    )
)
#: Webhook configurations, which webhooks could otherwise protect from repair; policies see them.
_WEBHOOK_CONFIGURATIONS: Final = frozenset(
    (
        "mutatingwebhookconfigurations.admissionregistration.k8s.io",
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
    )
)
#: Reviews, which are not stored; webhooks see them. Upstream: ``pkg/kubeapiserver/admission/exclusion``.
_REVIEWS: Final = frozenset(
    (
        "selfsubjectreviews.authentication.k8s.io",
        "tokenreviews.authentication.k8s.io",
        "localsubjectaccessreviews.authorization.k8s.io",
        "selfsubjectaccessreviews.authorization.k8s.io",
        "selfsubjectrulesreviews.authorization.k8s.io",
        "subjectaccessreviews.authorization.k8s.io",
    )
)


def is_exempt(resource: Resource) -> bool:
    """Return whether the resource is exempt from policies."""
    return resource.group_resource in _POLICIES or resource.group_resource in _REVIEWS


def is_exempt_from_webhooks(resource: Resource) -> bool:
    """Return whether webhooks are never called for the resource.

    Upstream: ``IsExemptAdmissionConfigurationResource`` in ``pkg/admission/plugin/webhook/predicates/rules``.
    """
    return resource.group_resource in _POLICIES or resource.group_resource in _WEBHOOK_CONFIGURATIONS


def is_namespace(attributes: Attributes) -> bool:
    """True if the write is of a Namespace."""
    return attributes.group_resource == "namespaces"


class Matcher:
    """``matchConstraints`` of a policy, or ``matchResources`` of a binding."""

    def __init__(self, tree: Tree) -> None:
        self._rules: Final[Sequence[Tree]] = tree.get("resourceRules") or ()
        self._excluded: Final[Sequence[Tree]] = tree.get("excludeResourceRules") or ()
        self._equivalent: Final = tree.get("matchPolicy") != "Exact"
        self._namespaces: Final = from_label_selector(tree.get("namespaceSelector") or {})
        self._objects: Final = from_label_selector(tree.get("objectSelector") or {})

    async def match(
        self, attributes: Attributes, *, namespace: FindNamespace, resource: FindResource
    ) -> Resource | None:
        """Return the resource in the version of the matching rule; None without a match. Raises 404."""
        if not selects_object(self._objects, attributes):
            return None
        if self._find(self._excluded, attributes, resource) is not None:
            return None
        matched = self._find(self._rules, attributes, resource) if self._rules else attributes.resource
        if matched is None or self._namespaces.is_empty:
            return matched
        return matched if await selects_namespace(self._namespaces, attributes, namespace) else None

    def _find(self, rules: Sequence[Tree], attributes: Attributes, find: FindResource) -> Resource | None:
        return matching_resource(rules, attributes, find, is_equivalent=self._equivalent)


def selects_object(selector: LabelSelector, attributes: Attributes) -> bool:
    """True if the selector matches the new or the old object."""
    if selector.is_empty:
        return True
    trees = (attributes.object, attributes.old_object)
    return any(tree is not None and selector.matches(labels_of(tree)) for tree in trees)


async def selects_namespace(selector: LabelSelector, attributes: Attributes, find: FindNamespace) -> bool:
    """True if the selector matches the namespace of the write, or there is none. Raises 404."""
    itself = is_namespace(attributes)
    if selector.is_empty or (not attributes.namespace and not itself):
        return True
    is_written = attributes.operation in (Operation.CREATE, Operation.UPDATE) and not attributes.subresource
    if itself and is_written and attributes.object is not None:
        return selector.matches(labels_of(attributes.object))
    namespace = await find(attributes.namespace)
    if namespace is None:
        raise not_found("namespaces", attributes.namespace)
    return selector.matches(labels_of(namespace))


def matching_resource(
    rules: Sequence[Tree], attributes: Attributes, find: FindResource, *, is_equivalent: bool
) -> Resource | None:
    """Return the resource in the version of the first matching rule; ``is_equivalent``: ``matchPolicy: Equivalent``."""
    for rule in rules:
        if _fits(rule, attributes, attributes.resource):
            return attributes.resource
    if not is_equivalent:
        return None
    for rule in rules:
        for other in _equivalents(rule, attributes.resource, find):
            if _fits(rule, attributes, other):
                return other
    return None


def labels_of(tree: Tree | None) -> dict[str, str]:
    """Return the labels of an object; none without an object."""
    labels: dict[str, str] = ((tree or {}).get("metadata") or {}).get("labels") or {}
    return labels


def _equivalents(rule: Tree, resource: Resource, find: FindResource) -> list[Resource]:
    """Return the equivalent resources that the rule names."""
    groups = [group for group in rule.get("apiGroups") or () if group != "*"] or [resource.group]
    versions = [version for version in rule.get("apiVersions") or () if version != "*"] or [resource.version]
    candidates = [find(group, version, resource.name) for group in groups for version in versions]
    return [
        other
        for other in candidates
        if other is not None and other.key_prefix == resource.key_prefix and other.api_version != resource.api_version
    ]


def _fits(rule: Tree, attributes: Attributes, resource: Resource) -> bool:
    return (
        _has(rule.get("operations"), attributes.operation.value)
        and _has(rule.get("apiGroups"), resource.group)
        and _has(rule.get("apiVersions"), resource.version)
        and any(_names(text, resource.name, attributes.subresource) for text in rule.get("resources") or ())
        and _in_scope(rule.get("scope"), attributes)
        and _is_named(rule.get("resourceNames"), attributes.name)
    )


def _has(values: Sequence[str] | None, value: str) -> bool:
    return bool(values) and ("*" in (values or ()) or value in (values or ()))


def _names(text: str, resource: str, subresource: str) -> bool:
    """True if ``text`` matches: ``pods``, ``pods/status``, ``*``, ``pods/*``, ``*/scale``, ``*/*``."""
    pattern, slash, part = text.partition("/")
    if pattern not in ("*", resource):
        return False
    return part in ("*", subresource) and (bool(subresource) or part == "*") if slash else not subresource


def _in_scope(scope: str | None, attributes: Attributes) -> bool:
    namespaced = bool(attributes.namespace) and not is_namespace(attributes)
    return scope in (None, "", "*") or (scope == "Namespaced") is namespaced


def _is_named(names: Sequence[str] | None, name: str) -> bool:
    return not names or name in names
