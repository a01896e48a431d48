"""Whether what somebody holds covers what is to be granted (``pkg/registry/rbac/validation/policy_comparator.go``).

Both are broken down into single permissions, so rights that are spread over rules add up.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from steersman.apiserver.authz.policy import PolicyRule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


def uncovered(held: Sequence[PolicyRule], wanted: Iterable[PolicyRule]) -> list[PolicyRule]:
    """The single permissions of ``wanted`` that no rule of ``held`` gives."""
    return [each for rule in wanted for each in _single(rule) if not any(_covers(one, each) for one in held)]


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


def _single(rule: PolicyRule) -> Iterator[PolicyRule]:
    """A rule's permissions, one by one."""
    names: list[tuple[str, ...]] = [(name,) for name in rule.resource_names] or [()]
    for group, resource, verb, name in product(rule.api_groups, rule.resources, rule.verbs, names):
        yield PolicyRule((verb,), (group,), (resource,), name)
    for url, verb in product(rule.non_resource_urls, rule.verbs):
        yield PolicyRule((verb,), non_resource_urls=(url,))


def _covers(held: PolicyRule, single: PolicyRule) -> bool:
    """Whether a rule gives a single permission; a star is covered by a star only."""
    [verb] = single.verbs
    if not held.allows_verb(verb):
        return False
    if single.non_resource_urls:
        return held.allows_path(single.non_resource_urls[0])
    [group], [path] = single.api_groups, single.resources
    resource, _, subresource = path.partition("/")
    if not held.allows_resource(group, resource, subresource):
        return False
    if not held.resource_names:
        return True
    return bool(single.resource_names) and single.resource_names[0] in held.resource_names
