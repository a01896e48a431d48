"""Compiler of the jq subset used by stages: a query becomes a function from a value to an iterator of values.

Supported: paths (``.a.b``, ``.a["k"]``, ``.[]``, ``.[0]``, ``?``), pipes, commas, comparisons, ``and``, ``or``, ``//``,
literals, ``select`` and a few more functions of jq 1.7. Anything else is a syntax error.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steersman.apimachinery.regexp import RegexpCostError, RegexpError
from steersman.nodes.kwok.jq_functions import COMPARISONS, FUNCTIONS, is_true

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Query = Callable[[Any], Iterator[Any]]


class QuerySyntaxError(ValueError):
    """Malformed or unsupported query."""


class QueryError(ValueError):
    """A value has the wrong type for a query."""


_TOKEN: Final = re.compile(
    r"""\s*(?:(?P<number>\d+(?:\.\d+)?)|(?P<text>"(?:[^"\\]|\\.)*")|(?P<field>\.[A-Za-z_]\w*)|(?P<word>[A-Za-z_]\w*)"""
    r"""|(?P<sign>==|!=|<=|>=|//|[.\[\]()|,<>?:+\-]))"""
)
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_CONSTANTS: Final = {"null": None, "true": True, "false": False}
#: Maximum nesting of a query.
_DEPTH_MAX: Final = 50
#: Maximum number of combinations of values in one run.
_COMBINATIONS_MAX: Final = 20_000


class _Token(NamedTuple):
    kind: str
    text: str


def compile_query(text: str) -> Query:
    """Compile a query to a function that raises QueryError for values of the wrong type. Raises QuerySyntaxError."""
    parser = _Parser(text)
    query = parser.pipe()
    parser.expect_end()
    work = parser.work

    def bounded(value: Any) -> Iterator[Any]:
        work.remaining = _COMBINATIONS_MAX
        yield from query(value)

    return bounded


class _Work:
    """Budget of combinations of values in one run; their number multiplies with each index."""

    __slots__ = ("remaining",)

    def __init__(self) -> None:
        self.remaining = _COMBINATIONS_MAX

    def count(self) -> None:
        """Count a combination. Raises QueryError when the budget is exceeded."""
        self.remaining -= 1
        if self.remaining < 0:
            raise QueryError("the query combines too many values")


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(_tokens(text))
        self._at = 0
        self._depth = 0
        self.work = _Work()

    def _peek(self) -> _Token:
        return self._tokens[self._at] if self._at < len(self._tokens) else _Token("end", "")

    def _take(self, *texts: str, kind: str = "sign") -> str | None:
        token = self._peek()
        if token.kind == kind and (not texts or token.text in texts):
            self._at += 1
            return token.text
        return None

    def _fault(self, message: str) -> QuerySyntaxError:
        return QuerySyntaxError(f"query {self._text!r}: {message}")

    def _number(self, text: str) -> float | int:
        try:
            return float(text) if "." in text else int(text)
        except ValueError:  # more digits than Python converts
            raise self._fault(f"the number {text[:20]}… is too long") from None

    def _expect(self, sign: str) -> None:
        if self._take(sign) is None:
            raise self._fault(f"{sign!r} is missing before {self._peek().text or 'the end'!r}")

    def expect_end(self) -> None:
        if self._peek().kind != "end":
            raise self._fault(f"{self._peek().text!r} is not expected")

    # Grammar, from lowest to highest precedence

    def pipe(self) -> Query:
        self._depth += 1
        if self._depth > _DEPTH_MAX:
            raise self._fault("too deep")
        query = self._commas()
        while self._take("|"):
            query = _piped(query, self._commas(), self.work)
        self._depth -= 1
        return query

    def _commas(self) -> Query:
        queries = [self._alternative()]
        while self._take(","):
            queries.append(self._alternative())
        return queries[0] if len(queries) == 1 else _chained(queries)

    def _alternative(self) -> Query:
        query = self._or()
        while self._take("//"):
            query = _otherwise(query, self._or())
        return query

    def _or(self) -> Query:
        query = self._and()
        while self._take("or", kind="word"):
            query = _either(query, self._and())
        return query

    def _and(self) -> Query:
        query = self._comparison()
        while self._take("and", kind="word"):
            query = _both(query, self._comparison())
        return query

    def _comparison(self) -> Query:
        query = self._sum()
        sign = self._take(*COMPARISONS)
        return query if sign is None else _combined(COMPARISONS[sign], query, self._sum(), self.work)

    def _sum(self) -> Query:
        query = self._postfix()
        while (sign := self._take("+", "-")) is not None:
            query = _combined(_add if sign == "+" else _subtract, query, self._postfix(), self.work)
        return query

    def _postfix(self) -> Query:
        query = self._term()
        while True:
            if (field := self._take(kind="field")) is not None:
                query = _piped(query, _at(field[1:]), self.work)
            elif self._take("?"):
                query = _quiet(query)
            elif self._take("["):
                query = self._index(query)
            elif self._peek() == _Token("sign", ".") and self._follows_dot():
                self._at += 1
            else:
                return query

    def _follows_dot(self) -> bool:
        """True if the next dot only precedes a bracket or string, as in ``.a.[]`` and ``.a."b"``."""
        following = self._tokens[self._at + 1 : self._at + 2]
        if following and following[0].kind == "text":
            self._tokens[self._at + 1 : self._at + 2] = [
                _Token("sign", "["), following[0], _Token("sign", "]"),
            ]  # fmt: skip
            return True
        return following == [_Token("sign", "[")]

    def _index(self, query: Query) -> Query:
        if self._take("]"):
            return _piped(query, _iterate, self.work)
        inner = self.pipe()
        self._expect("]")
        return _indexed(query, inner, self.work)

    def _term(self) -> Query:
        token = self._peek()
        self._at += 1
        if token.kind == "number":
            return _constant(self._number(token.text))
        if token.kind == "text":
            return _constant(_unquoted(token.text))
        if token.kind == "field":
            return _at(token.text[1:])
        if token.kind == "word":
            return self._call(token.text)
        if token.text == ".":
            if self._peek().kind == "text":
                return _at(_unquoted(self._take(kind="text") or ""))
            return _itself
        if token.text == "(":
            query = self.pipe()
            self._expect(")")
            return query
        if token.text == "[":
            return self._list()
        if token.text == "-":
            return _combined(_subtract, _constant(0), self._postfix(), self.work)
        raise self._fault(f"{token.text or 'the end'!r} is not expected")

    def _list(self) -> Query:
        if self._take("]"):
            return _constant([])
        inner = self.pipe()
        self._expect("]")

        def collected(value: Any) -> Iterator[Any]:
            yield list(inner(value))

        return collected

    def _call(self, name: str) -> Query:
        if name in _CONSTANTS:
            return _constant(_CONSTANTS[name])
        arguments = []
        if self._take("("):
            arguments.append(self.pipe())
            self._expect(")")
        builder = FUNCTIONS.get((name, len(arguments)))
        if builder is None:
            raise self._fault(f"the function {name}/{len(arguments)} is not known")
        return _with_query_errors(builder(*arguments))


def _tokens(text: str) -> Iterator[_Token]:
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            raise QuerySyntaxError(f"query {text!r}: {text[at:].strip()[:10]!r} is not understood")
        kind = match.lastgroup or ""
        yield _Token(kind, match[kind])
        at = match.end()


def _unquoted(text: str) -> str:
    def unescape(match: re.Match[str]) -> str:
        code = match[1]
        return chr(int(code[1:], 16)) if len(code) > 1 else _ESCAPES.get(code, code)

    # surrogate pairs become characters, lone surrogates U+FFFD
    return _ESCAPE.sub(unescape, text[1:-1]).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


# Queries


def _itself(value: Any) -> Iterator[Any]:
    yield value


def _constant(constant: Any) -> Query:
    def query(_value: Any) -> Iterator[Any]:
        yield constant

    return query


def _at(name: str) -> Query:
    def query(value: Any) -> Iterator[Any]:
        if value is None:
            yield None
        elif isinstance(value, dict):
            yield value.get(name)
        else:
            raise QueryError(f"{name!r} is asked of what is no object")

    return query


def _iterate(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value
    else:
        raise QueryError("what is no list and no object has no items")


def _indexed(query: Query, index: Query, work: _Work) -> Query:
    def results(value: Any) -> Iterator[Any]:
        for key in index(value):
            work.count()
            for result in query(value):
                work.count()
                yield _item(result, key)

    return results


def _item(value: Any, key: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, dict) and isinstance(key, str):
        return value.get(key)
    if isinstance(value, list) and isinstance(key, int) and not isinstance(key, bool):
        return value[key] if -len(value) <= key < len(value) else None
    raise QueryError(f"{key!r} is no index of it")


def _piped(first: Query, then: Query, work: _Work) -> Query:
    def query(value: Any) -> Iterator[Any]:
        for result in first(value):
            work.count()
            yield from then(result)

    return query


def _chained(queries: list[Query]) -> Query:
    def query(value: Any) -> Iterator[Any]:
        for branch in queries:
            yield from branch(value)

    return query


def _combined(combine: Callable[[Any, Any], Any], left: Query, right: Query, work: _Work) -> Query:
    def query(value: Any) -> Iterator[Any]:
        for second in right(value):
            work.count()
            for first in left(value):
                work.count()
                yield combine(first, second)

    return query


def _add(left: Any, right: Any) -> Any:
    if left is None or right is None:
        return right if left is None else left
    try:
        return {**left, **right} if isinstance(left, dict) else left + right
    except (TypeError, OverflowError):
        raise QueryError("these cannot be added") from None


def _subtract(left: Any, right: Any) -> Any:
    if isinstance(left, list) and isinstance(right, list):
        return [element for element in left if element not in right]
    try:
        return left - right
    except (TypeError, OverflowError):
        raise QueryError("these cannot be subtracted") from None


def _otherwise(first: Query, then: Query) -> Query:
    def query(value: Any) -> Iterator[Any]:
        results: list[Any] = []
        try:
            results.extend(result for result in first(value) if is_true(result))
        except QueryError:
            results.clear()
        yield from results or then(value)

    return query


def _either(left: Query, right: Query) -> Query:
    def query(value: Any) -> Iterator[Any]:
        for first in left(value):
            if is_true(first):
                yield True
            else:
                yield from map(is_true, right(value))

    return query


def _both(left: Query, right: Query) -> Query:
    def query(value: Any) -> Iterator[Any]:
        for first in left(value):
            if is_true(first):
                yield from map(is_true, right(value))
            else:
                yield False

    return query


def _quiet(inner: Query) -> Query:
    def query(value: Any) -> Iterator[Any]:
        try:
            yield from inner(value)
        except QueryError:
            return

    return query


def _with_query_errors(inner: Query) -> Query:
    """Convert Python's exceptions for values of the wrong type to QueryError."""

    def query(value: Any) -> Iterator[Any]:
        try:
            yield from inner(value)
        except QueryError:
            raise
        except (
            TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, RegexpError, RegexpCostError,
        ) as error:  # fmt: skip
            raise QueryError(str(error)) from None

    return query
