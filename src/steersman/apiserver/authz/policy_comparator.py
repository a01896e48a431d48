"""Coverage of policy rules: which permissions to be granted are not held. Upstream:
pkg/registry/rbac/validation/policy_comparator.go

Permissions may be spread over several held rules.
"""

from __future__ import annotations

import math
from functools import reduce
from itertools import islice, product
from operator import and_
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.workmeter import spend
from steersman.apiserver.authz.policy import ALL, PolicyRule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

#: Maximum number of missing permissions that are listed.
_UNCOVERED_MAX: Final = 1000
#: Maximum number of combinations of value groups examined for one rule.
_COMBINATIONS_MAX: Final = 100_000
#: Bit sets of at most this many rules are not cached, as each value may have one.
_SMALL_SET: Final = 16


#: Work units charged per requested rule.
_UNITS_PER_RULE: Final = 40


def uncovered(held: Sequence[PolicyRule], requested: Iterable[PolicyRule]) -> list[PolicyRule]:
    """Return the single permissions of ``requested`` that no rule of ``held`` covers, at most 1,000.

    A rule stands for the product of its lists. Their values are grouped by the held rules that allow them, so that the
    cost grows with the number of groups and not with the product. A rule with more combinations of groups than
    ``_COMBINATIONS_MAX`` counts as not covered.
    """
    index = _Held(held)
    return list(islice((subrule for rule in requested for subrule in _uncovered(index, rule)), _UNCOVERED_MAX))


def single_permissions(rule: PolicyRule) -> Iterator[PolicyRule]:
    """Yield the rule as rules of one verb on one resource, object name or path. Upstream: ``BreakdownRule``."""
    for group, resource, verb, name in product(
        rule.api_groups, rule.resources, rule.verbs, rule.resource_names or ("",)
    ):
        yield PolicyRule((verb,), (group,), (resource,), (name,) if name else ())
    for url, verb in product(rule.non_resource_urls, rule.verbs):
        yield PolicyRule((verb,), non_resource_urls=(url,))


class _Held:
    """Held rules, indexed by the values that they allow. Sets of rules are bit sets."""

    def __init__(self, rules: Iterable[PolicyRule]) -> None:
        distinct = tuple(dict.fromkeys(rules))
        self._size_bytes: Final = len(distinct) // 8 + 1
        self._verbs: Final = _positions(rule.verbs for rule in distinct)
        self._groups: Final = _positions(rule.api_groups for rule in distinct)
        self._resources: Final = _positions(rule.resources for rule in distinct)
        self._names: Final = _positions(rule.resource_names for rule in distinct)
        self._urls: Final = _positions(rule.non_resource_urls for rule in distinct)
        self._prefixes: Final = _positions(
            [url.rstrip(ALL) for url in rule.non_resource_urls if url.endswith(ALL)] for rule in distinct
        )
        self._prefix_lengths: Final = sorted({len(prefix) for prefix in self._prefixes})
        self._with_any_name: Final = self._set([n for n, rule in enumerate(distinct) if not rule.resource_names])
        self._large: Final[dict[tuple[int, str], int]] = {}

    def by_verb(self, verb: str) -> int:
        """Return the bit set of rules that allow ``verb``, by name or by ``*``."""
        return self._of(self._verbs, verb) | self._of(self._verbs, ALL)

    def by_group(self, group: str) -> int:
        """Return the rules about an API group."""
        return self._of(self._groups, group) | self._of(self._groups, ALL)

    def by_resource_path(self, path: str) -> int:
        """Return the rules about ``resource`` or ``resource/subresource``; see ``PolicyRule.allows_resource_path``."""
        resource, _, subresource = path.partition("/")
        if not subresource:
            return self._of(self._resources, resource) | self._of(self._resources, ALL)
        bits = self._of(self._resources, path) | self._of(self._resources, ALL)
        return bits | self._of(self._resources, f"{ALL}/{subresource}")

    def by_name(self, name: str) -> int:
        """Return the rules about an object of that name; the empty name stands for any."""
        return self._with_any_name | (self._of(self._names, name) if name else 0)

    def by_url(self, url: str) -> int:
        """Return the rules about a path outside the API."""
        bits = self._of(self._urls, url)
        for length in self._prefix_lengths:
            if length > len(url):
                break
            bits |= self._of(self._prefixes, url[:length])
        return bits

    def _of(self, table: dict[str, list[int]], value: str) -> int:
        positions = table.get(value)
        if positions is None:
            return 0
        if len(positions) <= _SMALL_SET:
            return self._set(positions)
        key = (id(table), value)
        cached = self._large.get(key)
        if cached is None:
            cached = self._large[key] = self._set(positions)
        return cached

    def _set(self, positions: Iterable[int]) -> int:
        bits = bytearray(self._size_bytes)
        for position in positions:
            bits[position >> 3] |= 1 << (position & 7)
        return int.from_bytes(bits, "little")


def _positions(values_of_rules: Iterable[Iterable[str]]) -> dict[str, list[int]]:
    """Return the positions of the rules that name each value."""
    table: dict[str, list[int]] = {}
    for position, values in enumerate(values_of_rules):
        for value in values:
            table.setdefault(value, []).append(position)
    return table


def _uncovered(held: _Held, rule: PolicyRule) -> Iterator[PolicyRule]:
    spend(_UNITS_PER_RULE)
    verbs = _grouped(rule.verbs, held.by_verb)
    if rule.api_groups and rule.resources:
        groups = _grouped(rule.api_groups, held.by_group)
        resources = _grouped(rule.resources, held.by_resource_path)
        names = _grouped(rule.resource_names or ("",), held.by_name)
        for group, resource, verb, name in _uncovered_values(groups, resources, verbs, names):
            yield PolicyRule((verb,), (group,), (resource,), (name,) if name else ())
    if rule.non_resource_urls:
        urls = _grouped(rule.non_resource_urls, held.by_url)
        for url, verb in _uncovered_values(urls, verbs):
            yield PolicyRule((verb,), non_resource_urls=(url,))


def _grouped(values: Iterable[str], rules_of: Callable[[str], int]) -> dict[int, list[str]]:
    """Return the values by the set of held rules that allow them."""
    groups: dict[int, list[str]] = {}
    for value in values:
        groups.setdefault(rules_of(value), []).append(value)
    return groups


def _uncovered_values(*dimensions: dict[int, list[str]]) -> Iterator[tuple[str, ...]]:
    """Yield the combinations of values that no rule allows in all dimensions."""
    is_too_complex = math.prod(map(len, dimensions)) > _COMBINATIONS_MAX
    for masks in product(*dimensions):
        if is_too_complex or not reduce(and_, masks):
            yield from product(*(dimension[mask] for dimension, mask in zip(dimensions, masks, strict=True)))


def compact_rules(single: Iterable[PolicyRule]) -> list[PolicyRule]:
    """Merge single permissions on the same resource into one rule, for messages. Upstream: ``CompactRules``."""
    verbs: dict[PolicyRule, list[str]] = {}
    paths = []
    for rule in single:
        if rule.non_resource_urls:
            paths.append(rule)
        else:
            target = PolicyRule((), rule.api_groups, rule.resources, rule.resource_names)
            verbs.setdefault(target, []).extend(rule.verbs)
    merged_rules = [
        PolicyRule(tuple(merged), target.api_groups, target.resources, target.resource_names)
        for target, merged in verbs.items()
    ]
    return [*paths, *merged_rules]
