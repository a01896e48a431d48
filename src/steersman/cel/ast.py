"""Nodes of the abstract syntax tree, with their source offset and, after checking, their type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from steersman.cel.types import Type


class Node:
    """Base class of expressions."""

    __slots__ = ("position", "type")

    def __init__(self, position: int) -> None:
        self.position: Final = position
        #: Set by the checker.
        self.type: Type | None = None

    def children(self) -> Iterator[Node]:
        """Yield the direct subexpressions."""
        return iter(())


class Literal(Node):
    """A constant, represented as in ``values``."""

    __slots__ = ("value",)

    def __init__(self, position: int, value: Any) -> None:
        super().__init__(position)
        self.value: Final = value


class Ident(Node):
    """An identifier of a variable or a type."""

    __slots__ = ("name",)

    def __init__(self, position: int, name: str) -> None:
        super().__init__(position)
        self.name: Final = name


class Select(Node):
    """A field selection ``operand.name``, a presence test ``has(operand.name)`` or ``operand.?name``."""

    __slots__ = ("field", "name", "operand", "optional", "qualified", "test")

    def __init__(self, position: int, operand: Node, name: str, *, test: bool = False, optional: bool = False) -> None:
        super().__init__(position)
        self.operand: Final = operand
        self.name: Final = name
        self.test: Final = test
        self.optional: Final = optional
        #: Field name in the object if it differs from the escaped name; set by the checker.
        self.field = name
        #: Qualified variable name that the selection resolved to (``authorizer.requestResource``); set by the checker.
        self.qualified = ""

    def children(self) -> Iterator[Node]:
        yield self.operand


class Call(Node):
    """``function(args)``, ``target.function(args)`` or an operator under its cel-go name (``_+_``)."""

    __slots__ = ("args", "function", "overloads", "target")

    def __init__(self, position: int, function: str, args: Sequence[Node], target: Node | None = None) -> None:
        super().__init__(position)
        self.function: Final = function
        self.args: Final = tuple(args)
        self.target: Final = target
        #: Overload candidates; set by the checker.
        self.overloads: tuple[str, ...] = ()

    def children(self) -> Iterator[Node]:
        if self.target is not None:
            yield self.target
        yield from self.args


class ListNode(Node):
    """A list literal ``[a, ?b]``."""

    __slots__ = ("items", "optional")

    def __init__(self, position: int, items: Sequence[Node], optional: frozenset[int]) -> None:
        super().__init__(position)
        self.items: Final = tuple(items)
        #: Indexes of optional items.
        self.optional: Final = optional

    def children(self) -> Iterator[Node]:
        return iter(self.items)


class Entry:
    """An entry ``key: value`` of a map or ``field: value`` of an object."""

    __slots__ = ("key", "optional", "position", "value")

    def __init__(self, position: int, key: Any, value: Node, *, optional: bool) -> None:
        self.position: Final = position
        #: A node for maps, a field name for objects.
        self.key: Final = key
        self.value: Final = value
        self.optional: Final = optional


class MapNode(Node):
    """A map literal ``{key: value}``."""

    __slots__ = ("entries",)

    def __init__(self, position: int, entries: Sequence[Entry]) -> None:
        super().__init__(position)
        self.entries: Final = tuple(entries)

    def children(self) -> Iterator[Node]:
        for entry in self.entries:
            yield entry.key
            yield entry.value


class ObjectNode(Node):
    """An object literal ``Object.spec{field: value}``."""

    __slots__ = ("entries", "name")

    def __init__(self, position: int, name: str, entries: Sequence[Entry]) -> None:
        super().__init__(position)
        self.name: Final = name
        self.entries: Final = tuple(entries)

    def children(self) -> Iterator[Node]:
        for entry in self.entries:
            yield entry.value


class Comprehension(Node):
    """A macro over a list or a map with one or two variables: ``range.all(x, condition)``.

    ``macro`` is ``all``, ``exists``, ``existsOne``, ``map``, ``filter``, ``transformList``, ``transformMap`` or
    ``transformMapEntry``; ``condition`` is the optional predicate, ``step`` the transformation.
    """

    __slots__ = ("condition", "macro", "range", "step", "variables")

    def __init__(
        self,
        position: int,
        macro: str,
        range_: Node,
        variables: Sequence[str],
        *,
        condition: Node | None = None,
        step: Node | None = None,
    ) -> None:
        super().__init__(position)
        self.macro: Final = macro
        self.range: Final = range_
        self.variables: Final = tuple(variables)
        self.condition: Final = condition
        self.step: Final = step

    def children(self) -> Iterator[Node]:
        yield self.range
        if self.condition is not None:
            yield self.condition
        if self.step is not None:
            yield self.step


class OptionalMap(Node):
    """``target.optMap(x, step)`` and, if ``flat``, ``target.optFlatMap(x, step)``."""

    __slots__ = ("flat", "step", "target", "variable")

    def __init__(self, position: int, target: Node, variable: str, step: Node, *, flat: bool) -> None:
        super().__init__(position)
        self.target: Final = target
        self.variable: Final = variable
        self.step: Final = step
        self.flat: Final = flat

    def children(self) -> Iterator[Node]:
        yield self.target
        yield self.step
