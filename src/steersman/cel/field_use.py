"""Fields of a variable that expressions read, so that a caller can leave the others unconverted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.cel.ast import Ident, Select

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from steersman.cel.ast import Node


class FieldUse:
    """Use of one value: as a whole, of some fields, or only of its presence."""

    __slots__ = ("fields", "is_whole")

    def __init__(self, *, is_whole: bool = False) -> None:
        self.is_whole = is_whole
        #: By the key in the object.
        self.fields: dict[str, FieldUse] = {}

    def field(self, name: str) -> FieldUse:
        """Return the use of a field, new if it was not used before."""
        use = self.fields.get(name)
        if use is None:
            use = self.fields[name] = FieldUse()
        return use


def field_use(trees: Iterable[Node], variables: Collection[str]) -> FieldUse:
    """Return the fields of variables that checked expressions read.

    A value is used as a whole unless an expression only selects a field of it.
    """
    use = FieldUse()
    for tree in trees:
        _collect(tree, variables, use)
    return use


def _collect(node: Node, variables: Collection[str], use: FieldUse) -> None:
    selected = _selected(node, variables, use)
    if selected is None:
        for child in node.children():
            _collect(child, variables, use)
    elif not (isinstance(node, Select) and node.test):
        selected.is_whole = True


def _selected(node: Node, variables: Collection[str], use: FieldUse) -> FieldUse | None:
    """Return the use of the field that a chain of selections from a variable ends in; None for another expression."""
    if isinstance(node, Ident):
        return use if node.name.removeprefix(".") in variables else None
    if not isinstance(node, Select):
        return None
    operand = _selected(node.operand, variables, use)
    return None if operand is None else operand.field(node.field)
