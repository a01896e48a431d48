"""Functions and comparisons of jq; their arguments are queries."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.regexp import compile_regexp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Query = Callable[[Any], Iterator[Any]]


def is_true(value: Any) -> bool:
    """True for everything but null and false."""
    return value is not None and value is not False


def _rank(value: Any) -> int:
    """Return the position of a value's type in jq's order: null, false, true, numbers, strings, arrays, objects."""
    if value is None or isinstance(value, bool):
        return (None, False, True).index(value)
    if isinstance(value, int | float):
        return 3
    return 4 if isinstance(value, str) else 5 if isinstance(value, list) else 6


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def holds(left: Any, right: Any) -> bool:
        return compare(_sort_key(left), _sort_key(right))

    return holds


def _sort_key(value: Any) -> tuple[Any, ...]:
    """Return a key that sorts as jq does: arrays by items, objects by sorted keys and then by values."""
    rank = _rank(value)
    if rank < 3:
        return (rank,)
    if isinstance(value, list):
        return (rank, [_sort_key(item) for item in value])
    if isinstance(value, dict):
        keys = sorted(value)
        return (rank, keys, [_sort_key(value[key]) for key in keys])
    return (rank, value)


def _equal(left: Any, right: Any) -> bool:
    return bool(_rank(left) == _rank(right) and left == right)


COMPARISONS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "==": _equal,
    "!=": lambda left, right: not _equal(left, right),
    "<": _ordered(operator.lt),
    "<=": _ordered(operator.le),
    ">": _ordered(operator.gt),
    ">=": _ordered(operator.ge),
}


def _of_value(function: Callable[[Any], Any]) -> Callable[[], Query]:
    """Wrap a function without arguments that returns one value."""

    def query(value: Any) -> Iterator[Any]:
        yield function(value)

    return lambda: query


def _of_argument(function: Callable[[Any, Any], Any]) -> Callable[[Query], Query]:
    """Wrap a function that is called with each value of its argument."""

    def bind(argument: Query) -> Query:
        def query(value: Any) -> Iterator[Any]:
            for each in argument(value):
                yield function(value, each)

        return query

    return bind


def _select(condition: Query) -> Query:
    def query(value: Any) -> Iterator[Any]:
        for holds in condition(value):
            if is_true(holds):
                yield value

    return query


def _items(value: Any) -> Iterable[Any]:
    if isinstance(value, list):
        return value
    if isinstance(value, dict):
        return value.values()
    raise TypeError("what is no list and no object has no items")


def _map(inner: Query) -> Query:
    def query(value: Any) -> Iterator[Any]:
        yield [bind for item in _items(value) for bind in inner(item)]

    return query


def _all(inner: Query) -> Query:
    def query(value: Any) -> Iterator[Any]:
        yield all(is_true(bind) for item in _items(value) for bind in inner(item))

    return query


def _any(inner: Query) -> Query:
    def query(value: Any) -> Iterator[Any]:
        yield any(is_true(bind) for item in _items(value) for bind in inner(item))

    return query


def _first(inner: Query) -> Query:
    def query(value: Any) -> Iterator[Any]:
        for each in inner(value):
            yield each
            return

    return query


def _nothing(_value: Any) -> Iterator[Any]:
    yield from ()


def _length(value: Any) -> Any:
    if value is None:
        return 0
    return abs(value) if isinstance(value, int | float) else len(value)


def _has(value: Any, key: Any) -> bool:
    return key in value if isinstance(value, dict) else 0 <= key < len(value)


def _number(value: Any) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    try:
        return int(value)
    except ValueError:
        try:
            return float(value)
        except ValueError:
            raise TypeError(f"{value!r} is no number") from None


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    from steersman.apimachinery.gotext import to_json  # noqa: PLC0415 — hardly ever asked for

    return to_json(value)


def _contains(value: Any, expected: Any) -> bool:
    if isinstance(value, dict):
        return all(key in value and _contains(value[key], each) for key, each in expected.items())
    if isinstance(value, list):
        return all(any(_contains(item, each) for item in value) for each in expected)
    return bool(expected in value) if isinstance(value, str) else _equal(value, expected)


#: Functions by name and number of arguments.
FUNCTIONS: Final[dict[tuple[str, int], Callable[..., Query]]] = {
    ("select", 1): _select,
    ("map", 1): _map,
    ("all", 0): lambda: _all(_of_value(lambda value: value)()),
    ("all", 1): _all,
    ("any", 0): lambda: _any(_of_value(lambda value: value)()),
    ("any", 1): _any,
    ("first", 0): _of_value(lambda value: value[0] if value else None),
    ("first", 1): _first,
    ("last", 0): _of_value(lambda value: value[-1] if value else None),
    ("empty", 0): lambda: _nothing,
    ("not", 0): _of_value(lambda value: not is_true(value)),
    ("length", 0): _of_value(_length),
    ("keys", 0): _of_value(lambda value: sorted(value) if isinstance(value, dict) else list(range(len(value)))),
    ("has", 1): _of_argument(_has),
    ("tonumber", 0): _of_value(_number),
    ("tostring", 0): _of_value(_text),
    ("startswith", 1): _of_argument(lambda value, start: value.startswith(start)),
    ("endswith", 1): _of_argument(lambda value, end: value.endswith(end)),
    ("contains", 1): _of_argument(_contains),
    ("test", 1): _of_argument(lambda value, pattern: compile_regexp(pattern).matches(value)),
    ("ascii_downcase", 0): _of_value(lambda value: value.lower()),
    ("ascii_upcase", 0): _of_value(lambda value: value.upper()),
}
