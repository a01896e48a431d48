"""Comparison of held permissions with permissions to be granted.

Permissions that are spread over several held rules add up. Upstream: pkg/registry/rbac/validation/policy_comparator.go
"""

from __future__ import annotations

import math
from functools import reduce
from itertools import islice, product
from operator import and_
from typing import TYPE_CHECKING, Final

from steersman.apiserver.authz.policy import PolicyRule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

#: Permissions that a refusal lists.
_UNCOVERED_MAX: Final = 1000
#: Combinations of groups of values that are looked at for one rule.
_COMBINATIONS_MAX: Final = 100_000


def uncovered(held: Sequence[PolicyRule], wanted: Iterable[PolicyRule]) -> list[PolicyRule]:
    """Return the single permissions of ``wanted`` that no rule of ``held`` gives, 1,000 at the most.

    A rule stands for the product of its lists. Their values are grouped by the held rules that allow them, so that the
    cost grows with the number of groups and not with the product. A rule with more combinations of groups than
    ``_COMBINATIONS_MAX`` counts as not covered.
    """
    return list(islice((each for rule in wanted for each in _uncovered(held, rule)), _UNCOVERED_MAX))


def _uncovered(held: Sequence[PolicyRule], rule: PolicyRule) -> Iterator[PolicyRule]:
    verbs = _grouped(held, rule.verbs, PolicyRule.allows_verb)
    if rule.api_groups and rule.resources:
        groups = _grouped(held, rule.api_groups, PolicyRule.allows_group)
        resources = _grouped(held, rule.resources, PolicyRule.allows_resource_path)
        names = _grouped(held, rule.resource_names or ("",), PolicyRule.allows_name)
        for group, resource, verb, name in _uncovered_values(groups, resources, verbs, names):
            yield PolicyRule((verb,), (group,), (resource,), (name,) if name else ())
    if rule.non_resource_urls:
        urls = _grouped(held, rule.non_resource_urls, PolicyRule.allows_path)
        for url, verb in _uncovered_values(urls, verbs):
            yield PolicyRule((verb,), non_resource_urls=(url,))


def _grouped(
    held: Sequence[PolicyRule], values: Iterable[str], allows: Callable[[PolicyRule, str], bool]
) -> dict[int, list[str]]:
    """Return the values by the set of held rules that allow them, as bits of a number."""
    groups: dict[int, list[str]] = {}
    for value in values:
        mask = sum(1 << position for position, rule in enumerate(held) if allows(rule, value))
        groups.setdefault(mask, []).append(value)
    return groups


def _uncovered_values(*dimensions: dict[int, list[str]]) -> Iterator[tuple[str, ...]]:
    """Yield the combinations of values that no rule allows in all dimensions."""
    is_too_complex = math.prod(map(len, dimensions)) > _COMBINATIONS_MAX
    for masks in product(*dimensions):
        if is_too_complex or not reduce(and_, masks):
            yield from product(*(dimension[mask] for dimension, mask in zip(dimensions, masks, strict=True)))


def compacted(single: Iterable[PolicyRule]) -> list[PolicyRule]:
    """Single permissions on the same thing as one rule, to be told in few words."""
    verbs: dict[PolicyRule, list[str]] = {}
    paths = []
    for rule in single:
        if rule.non_resource_urls:
            paths.append(rule)
        else:
            thing = PolicyRule((), rule.api_groups, rule.resources, rule.resource_names)
            verbs.setdefault(thing, []).extend(rule.verbs)
    together = [
        PolicyRule(tuple(said), thing.api_groups, thing.resources, thing.resource_names)
        for thing, said in verbs.items()
    ]
    return [*paths, *together]
