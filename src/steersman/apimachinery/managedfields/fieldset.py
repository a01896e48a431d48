"""Sets of field paths as FieldsV1 trees.

A set is a *node*: a dict from path element to the node below it. An element is a member of the set if the node below is
empty or has ``.``; otherwise it only leads to members further down. So a set and its wire form are the same. Every node
leads to a member; the empty set is ``{}`` at the root. Members are in upstream's order.

Nodes are values: no function here mutates one, and results share parts with their operands. Upstream:
structured-merge-diff ``fieldpath/set.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from steersman.apimachinery.managedfields.elements import SELF, canonical, order
from steersman.apimachinery.sorting import sorted_in_parts
from steersman.apimachinery.workmeter import charged

Node = dict[str, Any]
Path = tuple[str, ...]
#: Node of a member without members below it. Shared.
LEAF_NODE: Final[Node] = {}
#: Keeps a part of a set.
Filter = Callable[[Node], Node]
_UNITS_PER_ELEMENT: Final = 2


def decode(fields: Any) -> Node:
    """Return the set of FieldsV1 from a client; elements of unknown types are dropped.

    Raises ValueError for malformed FieldsV1.
    """
    if fields is None:
        return {}
    if not isinstance(fields, dict):
        raise ValueError("fieldsV1 is not an object")  # noqa: TRY004 — one error for bad input
    node: Node = {}
    for key, below in charged(fields.items(), _UNITS_PER_ELEMENT):
        if key == SELF:
            node[SELF] = {}
            continue
        element = canonical(key)
        if element is not None:
            node[element] = _normal(decode(below))
    return in_order(node)


def _normal(node: Node) -> Node:
    """Normalize ``{".": {}}`` to ``{}``."""
    return {} if len(node) == 1 and SELF in node else node


def decode_set(fields: Any) -> Node:
    """Decode a whole set: the object itself cannot be a member."""
    node = decode(fields)
    node.pop(SELF, None)
    return node


def in_order(node: Node) -> Node:
    """Return the node with its elements in upstream's order (the nodes below are unchanged)."""
    if len(node) < 2:
        return node
    elements = sorted_in_parts(node)
    if elements[-1] >= "g":  # not only fields
        elements = sorted_in_parts(node, key=order)
    return {element: node[element] for element in elements}


def of(paths: Iterable[Path]) -> Node:
    """Return the set of these paths; a step that is not an element is a field name."""
    root: Node = {}
    for path in paths:
        single: Node = {}
        for step in reversed(path):
            single = {step if step[1:2] == ":" else f"f:{step}": single}
        root = union(root, single)
    return root


def is_member(node: Node) -> bool:
    """Report whether the element that leads to ``node`` is a member itself."""
    return not node or SELF in node


def has(node: Node, path: Path) -> bool:
    """Report whether the path is a member."""
    for element in path:
        below = node.get(element)
        if below is None:
            return False
        node = below
    return bool(path) and is_member(node)


def paths(node: Node, prefix: Path = ()) -> Iterator[Path]:
    """Yield all members; of every node first its own elements, then members below."""
    for element, below in charged(node.items(), _UNITS_PER_ELEMENT):
        if element != SELF and is_member(below):
            yield (*prefix, element)
    for element, below in charged(node.items(), _UNITS_PER_ELEMENT):
        if below:
            yield from paths(below, (*prefix, element))


def leaves(node: Node) -> Node:
    """Return the members without members below them."""
    return {element: leaves(below) for element, below in charged(node.items(), _UNITS_PER_ELEMENT) if element != SELF}


def union(left: Node, right: Node) -> Node:
    """Return the members of either set."""
    if not left or left is right:
        return right
    if not right:
        return left
    return _join(left, right)


def _join(left: Node, right: Node) -> Node:
    out = dict(left)
    grown = False
    for element, below in charged(right.items(), _UNITS_PER_ELEMENT):
        left_child = left.get(element)
        if left_child is None:
            out[element] = below
            grown = True
        elif left_child is not below:
            out[element] = _join_below(left_child, below)
    return in_order(out) if grown else out


def _join_below(left: Node, right: Node) -> Node:
    if not left:
        return right if is_member(right) else {SELF: {}, **right}
    if not right:
        return left if SELF in left else {SELF: {}, **left}
    return _join(left, right)


def difference(left: Node, right: Node) -> Node:
    """Return the members of ``left`` that are not members of ``right``; a parent of a removed member stays."""
    if not left or not right or left.keys().isdisjoint(right):
        return left
    return _subtract(left, right, whole=False) or {}


def recursive_difference(left: Node, right: Node) -> Node:
    """Return the difference, with everything below members of ``right`` removed too."""
    if not left or not right or left.keys().isdisjoint(right):
        return left
    return _subtract(left, right, whole=True) or {}


def _subtract(left: Node, right: Node, *, whole: bool) -> Node | None:
    """Return the rest of a node with children; None if it is empty. The root is never a member."""
    out: Node = {}
    for element, below in charged(left.items(), _UNITS_PER_ELEMENT):
        other = right.get(element)
        if other is None:
            out[element] = below
        elif element != SELF:
            rest = _rest(below, other, whole=whole)
            if rest is not None:
                out[element] = rest
    return out or None


def _rest(left: Node, right: Node, *, whole: bool) -> Node | None:
    is_removed = not right or SELF in right
    if not left:
        return None if is_removed else left
    if is_removed and whole:
        return None
    out = _subtract(left, right or {SELF: {}}, whole=whole)
    return None if out is None else _normal(out)


def intersection(left: Node, right: Node) -> Node:
    """Return the members of both sets."""
    if left is right:
        return left
    out: Node = {}
    for element, below in charged(left.items(), _UNITS_PER_ELEMENT):
        other = right.get(element)
        if other is None or element == SELF:
            continue
        if not below and not other:
            out[element] = {}
            continue
        both = intersection(below, other) if below and other else {}
        if is_member(below) and is_member(other):
            out[element] = {SELF: {}, **both} if both else {}
        elif both:
            out[element] = both
    return out


def excluding(reset: Node) -> Filter:
    """Return a filter that drops these paths and everything below them."""
    return lambda node: recursive_difference(node, reset)
