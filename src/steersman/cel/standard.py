"""Standard functions and operators, with cel-go's overload identifiers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.cel import arithmetic as a
from steersman.cel import regex, times
from steersman.cel import values as v
from steersman.cel.conversions import CONVERSIONS, to_dyn, to_type
from steersman.cel.functions import Function, Overload, member
from steersman.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    Type,
    list_of,
    map_of,
    optional_of,
    param,
    type_of,
)
from steersman.cel.values import EvalError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from steersman.cel.functions import Cost

_A, _B = param("A"), param("B")
_LIST, _MAP = list_of(_A), map_of(_A, _B)
_NUMBERS: Final = {"int64": INT, "uint64": UINT, "double": DOUBLE}


def _arithmetic(verb: str, compute: Callable[..., Any], types: dict[str, Type]) -> list[Overload]:
    return [Overload(f"{verb}_{label}", (type_, type_), type_, compute) for label, type_ in types.items()]


def _additions() -> Iterator[Overload]:
    yield Overload("add_bytes", (BYTES, BYTES), BYTES, a.add)
    yield Overload("add_double", (DOUBLE, DOUBLE), DOUBLE, a.add)
    yield Overload("add_duration_duration", (DURATION, DURATION), DURATION, a.add)
    yield Overload("add_duration_timestamp", (DURATION, TIMESTAMP), TIMESTAMP, a.add)
    yield Overload("add_timestamp_duration", (TIMESTAMP, DURATION), TIMESTAMP, a.add)
    yield Overload("add_int64", (INT, INT), INT, a.add)
    yield Overload("add_list", (_LIST, _LIST), _LIST, a.add)
    yield Overload("add_string", (STRING, STRING), STRING, a.add)
    yield Overload("add_uint64", (UINT, UINT), UINT, a.add)


def _subtractions() -> Iterator[Overload]:
    yield from _arithmetic("subtract", a.subtract, _NUMBERS)
    yield Overload("subtract_duration_duration", (DURATION, DURATION), DURATION, a.subtract)
    yield Overload("subtract_timestamp_duration", (TIMESTAMP, DURATION), TIMESTAMP, a.subtract)
    yield Overload("subtract_timestamp_timestamp", (TIMESTAMP, TIMESTAMP), DURATION, a.subtract)


def _comparisons(verb: str, compute: Callable[..., Any]) -> Iterator[Overload]:
    """Yield comparison overloads, including mixed numeric types (``CrossTypeNumericComparisons``)."""
    for label, type_ in (("bool", BOOL), *_NUMBERS.items()):
        yield Overload(f"{verb}_{label}", (type_, type_), BOOL, compute)
    for left, one in _NUMBERS.items():
        for right, other in _NUMBERS.items():
            if left != right:
                yield Overload(f"{verb}_{left}_{right}", (one, other), BOOL, compute)
    for label, type_ in (("string", STRING), ("bytes", BYTES), ("timestamp", TIMESTAMP), ("duration", DURATION)):
        yield Overload(f"{verb}_{label}", (type_, type_), BOOL, compute)


def _no_compute(*_: Any) -> Any:
    """Placeholder: control-flow operators are compiled, not called."""
    raise AssertionError


def _operators() -> Iterator[Function]:
    """Yield the operators; their implementations dispatch on types themselves."""
    yield Function("_?_:_", [Overload("conditional", (BOOL, _A, _A), _A, _no_compute)])
    yield Function("_&&_", [Overload("logical_and", (BOOL, BOOL), BOOL, _no_compute)])
    yield Function("_||_", [Overload("logical_or", (BOOL, BOOL), BOOL, _no_compute)])
    yield Function("!_", [Overload("logical_not", (BOOL,), BOOL, _not)])
    yield Function("_==_", [Overload("equals", (_A, _A), BOOL, v.equal)], cost=_equality_cost)
    yield Function("_!=_", [Overload("not_equals", (_A, _A), BOOL, _differ)], cost=_equality_cost)
    yield Function("_+_", _additions(), cost=_addition_cost)
    yield Function("_-_", _subtractions())
    yield Function("_*_", _arithmetic("multiply", a.multiply, _NUMBERS))
    yield Function("_/_", _arithmetic("divide", a.divide, _NUMBERS))
    yield Function("_%_", _arithmetic("modulo", a.remainder, {"int64": INT, "uint64": UINT}))
    negations = [
        Overload("negate_int64", (INT,), INT, a.negate),
        Overload("negate_double", (DOUBLE,), DOUBLE, a.negate),
    ]
    yield Function("-_", negations)
    yield Function("_<_", _comparisons("less", a.less), cost=_equality_cost)
    yield Function("_<=_", _comparisons("less_equals", a.less_or_equal), cost=_equality_cost)
    yield Function("_>_", _comparisons("greater", a.greater), cost=_equality_cost)
    yield Function("_>=_", _comparisons("greater_equals", a.greater_or_equal), cost=_equality_cost)
    in_list = Overload("in_list", (_A, _LIST), BOOL, a.is_in)
    yield Function("@in", [in_list, Overload("in_map", (_A, _MAP), BOOL, a.is_in)], cost=_membership_cost)
    optional_list, optional_map = optional_of(_LIST), optional_of(_MAP)
    yield Function(
        "_[_]",
        [
            Overload("index_list", (_LIST, INT), _A, a.index),
            Overload("index_map", (_MAP, _A), _B, a.index),
            Overload("optional_list_index_int", (optional_list, INT), optional_of(_A), a.optional_index),
            Overload("optional_map_index_value", (optional_map, _A), optional_of(_B), a.optional_index),
        ],
    )
    yield Function(
        "_[?_]",
        [
            Overload("list_optindex_optional_int", (_LIST, INT), optional_of(_A), a.optional_index),
            Overload("optional_list_optindex_optional_int", (optional_list, INT), optional_of(_A), a.optional_index),
            Overload("map_optindex_optional_value", (_MAP, _A), optional_of(_B), a.optional_index),
            Overload("optional_map_optindex_optional_value", (optional_map, _A), optional_of(_B), a.optional_index),
        ],
    )


def _not(value: Any) -> bool:
    if not isinstance(value, bool):
        raise EvalError("no such overload")
    return not value


def _differ(left: Any, right: Any) -> bool:
    return not v.equal(left, right)


def _conversions() -> Iterator[Function]:
    takes: dict[str, tuple[tuple[str, Type], ...]] = {
        "int": (
            ("int64", INT),
            ("double", DOUBLE),
            ("duration", DURATION),
            ("string", STRING),
            ("timestamp", TIMESTAMP),
            ("uint64", UINT),
        ),
        "uint": (("uint64", UINT), ("double", DOUBLE), ("int64", INT), ("string", STRING)),
        "double": (("double", DOUBLE), ("int64", INT), ("string", STRING), ("uint64", UINT)),
        "bool": (("bool", BOOL), ("string", STRING)),
        "bytes": (("bytes", BYTES), ("string", STRING)),
        "string": (
            ("string", STRING),
            ("bool", BOOL),
            ("bytes", BYTES),
            ("double", DOUBLE),
            ("duration", DURATION),
            ("int64", INT),
            ("timestamp", TIMESTAMP),
            ("uint64", UINT),
        ),
        "timestamp": (("timestamp", TIMESTAMP), ("int64", INT), ("string", STRING)),
        "duration": (("duration", DURATION), ("int64", INT), ("string", STRING)),
    }
    results = {"int": INT, "uint": UINT, "double": DOUBLE, "bool": BOOL, "bytes": BYTES, "string": STRING}
    results |= {"timestamp": TIMESTAMP, "duration": DURATION}
    for name, accepted in takes.items():
        compute = CONVERSIONS[name]
        yield Function(
            name, [Overload(f"{label}_to_{name}", (type_,), results[name], compute) for label, type_ in accepted]
        )
    yield Function("dyn", [Overload("to_dyn", (_A,), DYN, to_dyn)])
    yield Function("type", [Overload("type", (_A,), type_of(_A), to_type)])


def _texts() -> Iterator[Function]:
    sizes = (("bytes", BYTES), ("list", _LIST), ("map", _MAP), ("string", STRING))
    yield Function(
        "size",
        [
            *(Overload(f"size_{label}", (type_,), INT, a.size) for label, type_ in sizes),
            *(member(f"{label}_size", (type_,), INT, a.size) for label, type_ in sizes),
        ],
        has_type_guards=False,
    )
    tests: tuple[tuple[str, str, Callable[[str, str], bool], Cost], ...] = (
        ("contains", "contains_string", _contains, _search_cost),
        ("startsWith", "starts_with_string", str.startswith, _affix_cost),
        ("endsWith", "ends_with_string", str.endswith, _affix_cost),
    )
    for name, label, test, cost in tests:
        overload = member(label, (STRING, STRING), BOOL, _text_test(test))
        yield Function(name, [overload], cost=cost, has_type_guards=False)
    yield Function(
        "matches",
        [
            Overload("matches", (STRING, STRING), BOOL, regex.matches),
            member("matches_string", (STRING, STRING), BOOL, regex.matches),
        ],
        cost=regex.cost,
        has_type_guards=False,
    )


def _text_test(test: Callable[[str, str], bool]) -> Callable[[Any, Any], bool]:
    def compute(text: Any, part: Any) -> bool:
        if not isinstance(text, str) or not isinstance(part, str):
            raise EvalError("no such overload")
        return test(text, part)

    return compute


def _contains(text: str, part: str) -> bool:
    return part in text


def _times() -> Iterator[Function]:
    for name, compute in {**times.PARTS, "getMilliseconds": times.milliseconds}.items():
        label = name.removeprefix("get").lower()
        overloads = [
            member(f"timestamp_to_{label}", (TIMESTAMP,), INT, compute),
            member(f"timestamp_to_{label}_with_tz", (TIMESTAMP, STRING), INT, compute),
        ]
        of_duration = times.DURATION_PARTS.get(name)
        if of_duration is not None:
            overloads.append(member(f"duration_to_{label}", (DURATION,), INT, of_duration))
        yield Function(name, overloads)


def tenth(size: int) -> int:
    """Return a tenth, rounded up: the cost of traversing a string of this size."""
    return -(-size // 10)


def _equality_cost(args: Sequence[Any], _: Any) -> int:
    if not isinstance(args[0], (str, bytes, list, dict)):
        return 1
    return max(1, tenth(min(a.cost_size(args[0]), a.cost_size(args[1]))))


def _addition_cost(args: Sequence[Any], _: Any) -> int:
    if isinstance(args[0], (str, bytes, list)):
        return max(1, tenth(a.cost_size(args[0]) + a.cost_size(args[1])))
    return 1


def _membership_cost(args: Sequence[Any], _: Any) -> int:
    return a.cost_size(args[1]) if isinstance(args[1], list) else 1


def _search_cost(args: Sequence[Any], _: Any) -> int:
    return tenth(a.cost_size(args[0])) * tenth(a.cost_size(args[1]))


def _affix_cost(args: Sequence[Any], _: Any) -> int:
    return tenth(a.cost_size(args[1]))


def functions() -> Iterator[Function]:
    """Return the standard functions."""
    yield from _operators()
    yield from _conversions()
    yield from _texts()
    yield from _times()
