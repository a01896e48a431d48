"""Selections of objects by lists and watches: a namespace or one object, labels, fields, a shard.

Nothing is decoded that the question does not need: names and namespaces are in the key, labels by a partial decode
that is remembered, a kind's own fields by one full decode that is remembered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apimachinery.selectors import FieldRequirement

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from steersman.apimachinery.selectors import FieldSelector, LabelSelector
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.generic.entry import Entry
    from steersman.apiserver.generic.watch_cache import WatchCache

    Test = Callable[[Entry], bool]

NAME = "metadata.name"
NAMESPACE = "metadata.namespace"


class Selection:
    """Selection of entries of one cache."""

    __slots__ = ("_tests", "base", "identity", "is_single", "reads_objects", "scope")

    def __init__(
        self,
        scope: str,
        *,
        base: str,
        is_single: bool,
        tests: Sequence[Test],
        identity: tuple[str, ...],
        reads_objects: bool = False,
    ) -> None:
        #: Prefix of the selected keys; with ``is_single``, the only key.
        self.scope = scope
        self.is_single = is_single
        #: Prefix by the path alone; page positions are relative to it.
        self.base = base
        self._tests = tuple(tests)
        #: A test decodes each object that no such test has seen before.
        self.reads_objects = reads_objects
        #: Equal for equivalent selections, so that watchers can share work.
        self.identity = identity

    @property
    def takes_all(self) -> bool:
        """True if there is no selector: all objects of the scope match."""
        return not self._tests

    def covers(self, key: str) -> bool:
        """Report whether the key lies in the scope."""
        return key == self.scope if self.is_single else key.startswith(self.scope)

    def matches(self, entry: Entry) -> bool:
        """Report whether an object in the scope is shown."""
        for test in self._tests:  # noqa: SIM110 — runs for every change and watcher; a generator costs twice as much
            if not test(entry):
                return False
        return True

    def of(self, entries: list[Entry]) -> list[Entry]:
        """Return the entries that match; all must be in the scope."""
        for test in self._tests:
            entries = [entry for entry in entries if test(entry)]
        return entries


def select(
    cache: WatchCache,
    namespace: str = "",
    *,
    labels: LabelSelector | None = None,
    fields: FieldSelector | None = None,
    field_values: Mapping[str, Callable[[Tree], str]] | None = None,
    shard: tuple[str, Test] | None = None,
) -> Selection:
    """Return the selection of a request. ``fields`` has the kind's own field labels (``field_values``), and names."""
    requirements = fields.requirements if fields is not None else ()
    tests: list[Test] = _field_tests(cache, requirements, field_values or {})
    if labels is not None and not labels.is_empty:
        matches = labels.matches
        tests.append(lambda entry: matches(entry.labels))
    if shard is not None:
        tests.append(shard[1])
    base = cache.scope(namespace)
    name = fields.exact_value(NAME) if fields is not None else None
    namespace = namespace or (fields.exact_value(NAMESPACE) if fields is not None else None) or ""
    is_single = bool(name) and (bool(namespace) or not cache.namespaced)
    scope = cache.key(namespace, name or "") if is_single else cache.scope(namespace)
    identity = (scope, str(labels or ""), str(fields or ""), shard[0] if shard else "")
    reads_objects = any(requirement[0] not in (NAME, NAMESPACE) for requirement in requirements)
    return Selection(scope, base=base, is_single=is_single, tests=tests, identity=identity, reads_objects=reads_objects)


def _field_tests(
    cache: WatchCache, requirements: Sequence[FieldRequirement], values: Mapping[str, Callable[[Tree], str]]
) -> list[Test]:
    """Return a test per field, or two: fields are few, but a client chooses the number of requirements."""
    by_field: dict[str, list[FieldRequirement]] = {}
    for requirement in requirements:
        by_field.setdefault(requirement.field, []).append(requirement)
    tests: list[Test] = []
    for field, group in by_field.items():
        if len(group) == 1:
            tests.append(_field_test(cache, group[0], values))
            continue
        required = {requirement.value for requirement in group if requirement.equal}
        forbidden = frozenset(requirement.value for requirement in group if not requirement.equal)
        if len(required) > 1:
            return [lambda _: False]
        tests += [_field_test(cache, FieldRequirement(field, value), values) for value in required]
        if forbidden:
            tests.append(_other_values_test(cache, field, forbidden, values))
    return tests


def _other_values_test(
    cache: WatchCache, field: str, forbidden: frozenset[str], values: Mapping[str, Callable[[Tree], str]]
) -> Test:
    if field == NAME:
        return lambda entry: entry.name not in forbidden
    if field == NAMESPACE:
        return lambda entry: cache.namespace_of(entry) not in forbidden
    index = list(values).index(field)
    return lambda entry: entry.fields(values)[index] not in forbidden


def _field_test(cache: WatchCache, requirement: FieldRequirement, values: Mapping[str, Callable[[Tree], str]]) -> Test:
    field, value, equal = requirement
    if field == NAME:
        return lambda entry: (entry.name == value) is equal
    if field == NAMESPACE:
        return lambda entry: (cache.namespace_of(entry) == value) is equal
    index = list(values).index(field)
    return lambda entry: (entry.fields(values)[index] == value) is equal
