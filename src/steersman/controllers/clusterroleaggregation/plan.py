"""Rules of an aggregated role, and the roles that aggregate a changed role. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from steersman.apimachinery.selectors import from_label_selector
from steersman.client.objects import labels_of, name_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lightkube.models.rbac_v1 import ClusterRole, PolicyRule

    from steersman.apimachinery.selectors import LabelSelector


def selectors(role: ClusterRole) -> list[LabelSelector]:
    """Return the selectors of the role's aggregation rule. Raises SelectorError."""
    rule = role.aggregationRule
    listed = (rule.clusterRoleSelectors if rule else None) or ()
    return [from_label_selector(msgspec.to_builtins(selector)) for selector in listed]


def aggregated_rules(role: ClusterRole, roles: Iterable[ClusterRole]) -> list[PolicyRule]:
    """Return the aggregated rules by selector, then role name, without duplicates. Raises SelectorError."""
    ordered = sorted((other for other in roles if name_of(other) != name_of(role)), key=name_of)
    rules: list[PolicyRule] = []
    for selector in selectors(role):
        for other in ordered:
            if selector.matches(labels_of(other)):
                rules.extend(rule for rule in other.rules or () if rule not in rules)
    return rules


def is_up_to_date(role: ClusterRole, rules: Sequence[PolicyRule]) -> bool:
    """Report whether the role holds these rules."""
    return list(role.rules or ()) == list(rules)


def affected(changed: Iterable[Any], aggregating: Iterable[ClusterRole]) -> list[str]:
    """Return the names of the aggregating roles that select an old or new state of a role, or are the role."""
    states = list(changed)
    own = {name_of(state) for state in states}
    return [
        name_of(role)
        for role in aggregating
        if name_of(role) in own
        or any(selector.matches(labels_of(state)) for selector in selectors(role) for state in states)
    ]
