"""Inputs of policy expressions: the namespace, the authorizer, the cost budget.

Loaded with the first policy, as it loads the expression language.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.selectors import SelectorError, parse_field_selector, parse_label_selector
from steersman.apiserver.request import RequestInfo, UserInfo
from steersman.apiserver.workers import on_loop
from steersman.cel.library.authorizer import CheckAttributes, CheckDecision, authorizer, request_resource

if TYPE_CHECKING:
    from steersman.apimachinery.selectors import FieldRequirement
    from steersman.apimachinery.selectors.labels import Requirement
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.admission.interface import Attributes
    from steersman.apiserver.authz.interface import Authorizer

#: Metadata of ``namespaceObject``.
_NAMESPACE_METADATA: Final = [
    "name",
    "generateName",
    "namespace",
    "labels",
    "annotations",
    "uid",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "resourceVersion",
    "finalizers",
]


class CostBudget:
    """Remaining cost budget of a policy's expressions."""

    __slots__ = ("remaining",)

    def __init__(self, budget: int) -> None:
        self.remaining = budget


def namespace_object(namespace: Tree | None) -> Tree | None:
    """Return the value of ``namespaceObject``."""
    if namespace is None:
        return None
    metadata = namespace["metadata"]
    shown = {key: metadata[key] for key in _NAMESPACE_METADATA if key in metadata}
    return {"metadata": shown, "spec": namespace.get("spec") or {}, "status": namespace.get("status") or {}}


def authorizer_variables(attributes: Attributes, checker: Authorizer) -> Tree:
    """Return the values of ``authorizer`` and ``authorizer.requestResource``; identical checks are evaluated once."""
    answers: dict[CheckAttributes, CheckDecision] = {}

    def authorize(query: CheckAttributes) -> CheckDecision:
        decision = answers.get(query)
        if decision is None:
            decision = answers[query] = _authorize(query, attributes.user, checker)
        return decision

    resource = attributes.resource
    query = CheckAttributes(
        group=resource.group,
        resource=resource.name,
        subresource=attributes.subresource,
        namespace=attributes.namespace,
        name=attributes.name,
    )
    return {"authorizer": authorizer(authorize), "authorizer.requestResource": request_resource(authorize, query)}


def _authorize(query: CheckAttributes, user: UserInfo, checker: Authorizer) -> CheckDecision:
    if query.service_account is not None:
        namespace, name = query.service_account
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
        user = UserInfo(f"system:serviceaccount:{namespace}:{name}", groups)
    if query.path:
        info = RequestInfo(query.verb, query.path)
    else:
        info = RequestInfo(
            query.verb,
            "",
            is_resource=True,
            group=query.group,
            version="*",
            namespace=query.namespace,
            resource=query.resource,
            name=query.name,
            subresource=query.subresource,
            fields=_fields(query.field_selector),
            labels=_labels(query.label_selector),
        )
    decision = on_loop(checker.authorize, user, info)
    return CheckDecision(decision.allowed, decision.reason, decision.error)


def _fields(selector: str) -> tuple[FieldRequirement, ...]:
    """Return the requirements of a field selector; none if it is malformed, as then it restricts nothing."""
    try:
        return tuple(parse_field_selector(selector).requirements) if selector else ()
    except SelectorError:
        return ()


def _labels(selector: str) -> tuple[Requirement, ...]:
    """Return the requirements of a label selector; none if it is malformed."""
    try:
        return tuple(parse_label_selector(selector).requirements) if selector else ()
    except SelectorError:
        return ()
