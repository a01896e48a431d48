"""SelfSubjectRulesReview: rules of the caller in a namespace (``kubectl auth can-i --list``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.errors import bad_request
from steersman.apimachinery.workmeter import charged
from steersman.apiserver.workers import with_allowance

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.authz.interface import RuleResolver, Rules
    from steersman.apiserver.authz.policy import PolicyRule
    from steersman.apiserver.endpoints.posting import PostWrite
    from steersman.apiserver.http import Request

_UNITS_PER_RULE: Final = 5


class RulesReviews:
    """Endpoint of SelfSubjectRulesReviews."""

    def __init__(self, resolver: RuleResolver) -> None:
        self._resolver = resolver

    async def of_self(self, request: Request, posted: PostWrite, check: Callable[[], Awaitable[None]]) -> None:
        """Answer with the rules of the caller in a namespace. Raises 400 without one."""
        tree = posted.new
        namespace = (tree.get("spec") or {}).get("namespace")
        if not namespace:
            raise bad_request("no namespace on request")
        await check()
        held = self._resolver.rules_for(request.user, namespace)
        status = await with_allowance(_status, held)
        # the response has no spec
        tree.update(metadata={}, spec={}, status=status)


def _status(held: Rules) -> Tree:
    status: Tree = {
        "resourceRules": [_resource_rule(rule) for rule in charged(held.rules, _UNITS_PER_RULE) if rule.resources],
        "nonResourceRules": [
            {"verbs": list(rule.verbs), "nonResourceURLs": list(rule.non_resource_urls)}
            for rule in held.rules
            if rule.non_resource_urls
        ],
        "incomplete": held.incomplete,
    }
    if held.error:
        status["evaluationError"] = held.error
    return status


def _resource_rule(rule: PolicyRule) -> Tree:
    tree: Tree = {"verbs": list(rule.verbs)}
    for name, values in (
        ("apiGroups", rule.api_groups),
        ("resources", rule.resources),
        ("resourceNames", rule.resource_names),
    ):
        if values:
            tree[name] = list(values)
    return tree
