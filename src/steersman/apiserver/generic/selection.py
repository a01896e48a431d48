"""Selections of objects by lists and watches: a namespace or one object, labels, fields, a shard.

Nothing is decoded that the question does not need: names and namespaces are in the key, labels by a partial decode
that is remembered, a kind's own fields by one full decode that is remembered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from steersman.apimachinery.selectors import FieldRequirement, FieldSelector, LabelSelector
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.generic.entry import Entry
    from steersman.apiserver.generic.watch_cache import WatchCache

    Test = Callable[[Entry], bool]

NAME = "metadata.name"
NAMESPACE = "metadata.namespace"


class Selection:
    """A question about entries of one cache."""

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
        #: Keys of what is shown begin with this; with ``is_single`` it is the only one.
        self.scope = scope
        self.is_single = is_single
        #: The prefix that the path alone asks for; positions of pages are relative to it.
        self.base = base
        self._tests = tuple(tests)
        #: A test decodes each object that no such test has seen before.
        self.reads_objects = reads_objects
        #: Equal for questions with the same answers, so that watchers can share work.
        self.identity = identity

    @property
    def takes_all(self) -> bool:
        """Every object in the scope is shown: no selector was given."""
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
    tests: list[Test] = [_field_test(cache, requirement, field_values or {}) for requirement in requirements]
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


def _field_test(cache: WatchCache, requirement: FieldRequirement, values: Mapping[str, Callable[[Tree], str]]) -> Test:
    field, value, equal = requirement
    if field == NAME:
        return lambda entry: (entry.name == value) is equal
    if field == NAMESPACE:
        return lambda entry: (cache.namespace_of(entry) == value) is equal
    index = list(values).index(field)
    return lambda entry: (entry.fields(values)[index] == value) is equal
