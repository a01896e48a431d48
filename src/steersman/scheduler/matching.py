"""Label selectors and node selectors, compiled for repeated evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from steersman.apimachinery.selectors import NOTHING, LabelSelector, SelectorError, from_label_selector
from steersman.workloads import node_matching

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from steersman.scheduler.node_info import NodeInfo
    from steersman.scheduler.objects import NodeSelectorTerm

    NodeTest = Callable[[NodeInfo], bool]


def label_selector(selector: Any) -> LabelSelector:
    """Compile a ``LabelSelector`` of an object; None and invalid selectors match nothing."""
    if selector is None:
        return NOTHING
    try:
        return from_label_selector(msgspec.to_builtins(selector))
    except SelectorError:
        return NOTHING


def node_term(term: NodeSelectorTerm) -> NodeTest:
    """Compile a NodeSelectorTerm."""
    matches = node_matching.node_term(term)
    return lambda node: matches(node.name, node.labels)


def any_term(terms: Sequence[NodeSelectorTerm]) -> NodeTest:
    """Compile NodeSelectorTerms, which are ORed."""
    tests = [node_term(term) for term in terms]
    return tests[0] if len(tests) == 1 else lambda node: any(test(node) for test in tests)


def names_in(terms: Sequence[NodeSelectorTerm]) -> frozenset[str] | None:
    """Return the node names that the terms require by ``metadata.name``; None if a term does not restrict it."""
    names: set[str] = set()
    for term in terms:
        named: set[str] | None = None
        for field in term.matchFields or ():
            if field.key == "metadata.name" and field.operator == "In":
                values = set(field.values or ())
                named = values if named is None else named & values
        if named is None:
            return None
        names |= named
    return frozenset(names)


def has_labels(required: Mapping[str, str]) -> NodeTest:
    """Return a predicate for nodes that have all these labels."""
    pairs = tuple(required.items())

    def test(node: NodeInfo) -> bool:
        labels = node.labels
        return all(labels.get(key) == value for key, value in pairs)

    return test
