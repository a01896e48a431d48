"""Function declarations: overloads with their types, implementations and costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.cel import values as v
from steersman.cel.subtypes import UInt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from steersman.cel.types import Type

    Cost = Callable[[Sequence[Any], Any], int]


class Overload:
    """One signature of a function."""

    __slots__ = ("compute", "guards", "id", "member", "params", "result")

    def __init__(
        self, id_: str, params: Sequence[Type], result: Type, compute: Callable[..., Any], *, member: bool = False
    ) -> None:
        self.id: Final = id_
        #: For member overloads the target comes first.
        self.params: Final = tuple(params)
        self.result: Final = result
        self.compute: Final = compute
        self.member: Final = member
        self.guards: Final = tuple(map(_guard, self.params))

    def takes(self, args: Sequence[Any]) -> bool:
        """Report whether the arguments have the parameter types."""
        return len(args) == len(self.guards) and all(
            guard is None or guard(arg) for guard, arg in zip(self.guards, args, strict=True)
        )


class Function:
    """A function with its overloads, in matching order."""

    __slots__ = ("cost", "has_type_guards", "name", "overloads")

    def __init__(
        self, name: str, overloads: Iterable[Overload], cost: Cost | None = None, *, has_type_guards: bool = True
    ) -> None:
        self.name: Final = name
        self.overloads: Final = tuple(overloads)
        #: Cost function; None for cost 1.
        self.cost: Final = cost
        #: False if all overloads share an implementation that checks the types of its arguments itself.
        self.has_type_guards: Final = has_type_guards

    def extended(self, other: Function) -> Function:
        """Return a function with the overloads of both."""
        return Function(self.name, (*self.overloads, *other.overloads), self.cost or other.cost)


def member(id_: str, params: Sequence[Type], result: Type, compute: Callable[..., Any]) -> Overload:
    """Return a member overload."""
    return Overload(id_, params, result, compute, member=True)


def merge(*libraries: Iterable[Function]) -> dict[str, Function]:
    """Merge libraries by function name; overloads of one name are combined."""
    by_name: dict[str, Function] = {}
    for library in libraries:
        for function in library:
            before = by_name.get(function.name)
            by_name[function.name] = function if before is None else before.extended(function)
    return by_name


_PYTHON: Final[dict[str, Callable[[Any], bool]]] = {
    "bool": lambda value: isinstance(value, bool),
    "int": lambda value: type(value) is int,
    "uint": lambda value: isinstance(value, UInt),
    "double": lambda value: isinstance(value, float),
    "string": lambda value: isinstance(value, str),
    "bytes": lambda value: isinstance(value, bytes),
    "null": lambda value: value is None,
    "list": lambda value: isinstance(value, list),
    "map": lambda value: isinstance(value, dict),
    "timestamp": lambda value: isinstance(value, v.Timestamp),
    "duration": lambda value: isinstance(value, v.Duration),
    "type": lambda value: isinstance(value, v.TypeValue),
}


def _guard(type_: Type) -> Callable[[Any], bool] | None:
    """Return the run-time test for a type; None if any value matches."""
    if type_.kind in ("opaque", "object"):
        name = type_.name
        return lambda value: v.type_name(value) == name
    if type_.kind == "list" and type_.params[0].kind not in ("param", "dyn"):
        inner = _guard(type_.params[0])
        if inner is not None:
            # As cel-go, only the first item is tested.
            return lambda value: isinstance(value, list) and (not value or inner(value[0]))
    return _PYTHON.get(type_.kind)
