"""Selectors, delays and weights of stages, read from an object by jq or CEL."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.durations import parse_duration
from steersman.apimachinery.timestamps import parse_time
from steersman.nodes.kwok.jq import QueryError, QuerySyntaxError, compile_query
from steersman.nodes.node_object import TemplateError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from steersman.apimachinery.trees import Tree
    from steersman.cel.environment import Environment
    from steersman.cel.program import Program
    from steersman.nodes.kwok.format import ExpressionFrom, Requirement, Selector

    Matches = Callable[[Tree], bool]

_WITH_VALUES: Final = ("In", "NotIn")
_WITHOUT_VALUES: Final = ("Exists", "DoesNotExist")


def selector_matches(selector: Selector) -> Matches:
    """Return a predicate that is True if all parts of the selector match. Raises TemplateError."""
    parts: list[Matches] = []
    if selector.match_labels:
        parts.append(_has_all("labels", selector.match_labels))
    if selector.match_annotations:
        parts.append(_has_all("annotations", selector.match_annotations))
    for match_expression in selector.match_expressions:
        expression = match_expression.cel.expression if match_expression.cel else match_expression.expression
        parts.append(_condition(expression) if expression else _requirement(match_expression))
    return lambda obj: all(part(obj) for part in parts)


def _has_all(field: str, expected: Mapping[str, str]) -> Matches:
    def matches(obj: Tree) -> bool:
        field_values = obj["metadata"].get(field) or {}
        return all(field_values.get(key) == value for key, value in expected.items())

    return matches


def _requirement(requirement: Requirement) -> Matches:
    source = requirement.jq or requirement
    find = _query(source.key)
    values, operator = frozenset(source.values), source.operator
    if operator in _WITH_VALUES:
        if not values:
            raise TemplateError("for 'in', 'notin' operators, values set can't be empty")

        def matches(obj: Tree) -> bool:
            return any(_as_text(value) in values for value in find(obj))

    elif operator in _WITHOUT_VALUES:
        if values:
            raise TemplateError("values set must be empty for exists and does not exist")

        def matches(obj: Tree) -> bool:
            return any(value is not None for value in find(obj))

    else:
        raise TemplateError(f'operator "{operator}" is not supported')
    return matches if operator in ("In", "Exists") else lambda obj: not matches(obj)


def _as_text(value: Any) -> str | None:
    """Return the text of a scalar for comparison with a selector; None for other values."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int) else None


def _query(text: str) -> Callable[[Tree], list[Any]]:
    try:
        query = compile_query(text)
    except QuerySyntaxError as error:
        raise TemplateError(str(error)) from None

    def find(obj: Tree) -> list[Any]:
        """Return the values of the query; empty for an object with unexpected types."""
        results: list[Any] = []
        try:
            results.extend(query(obj))
        except QueryError:
            return results
        return results

    return find


@cache
def _environment() -> Environment:
    from steersman.cel import types as t  # noqa: PLC0415 — hardly any stage is written in CEL
    from steersman.cel.environment import kubernetes  # noqa: PLC0415

    return kubernetes().extended(variables={"self": t.ANY})


def _program(expression: str) -> Program:
    from steersman.cel.program import compile_expression  # noqa: PLC0415 — hardly any stage is written in CEL
    from steersman.cel.source import CompileError  # noqa: PLC0415

    try:
        return compile_expression(expression, _environment())
    except CompileError as error:
        raise TemplateError(f"expression {expression!r}: {error}") from None


def _condition(expression: str) -> Matches:
    program = _program(expression)
    return lambda obj: program.evaluate({"self": obj}).value is True


def _first_value(source: ExpressionFrom) -> Callable[[Tree], Any]:
    """Return a function that returns the first value of a query, or the value of a CEL expression; None without a
    value.
    """
    if source.cel is not None:
        program = _program(source.cel.expression)
        return lambda obj: _plain(program.evaluate({"self": obj}).value)
    find = _query(source.jq.expression if source.jq is not None else source.expression_from)
    return lambda obj: next((value for value in find(obj) if value is not None), None)


def _plain(value: Any) -> Any:
    """Convert durations to seconds and timestamps to datetimes."""
    from steersman.cel.values import NANOS, Duration, Timestamp  # noqa: PLC0415

    if isinstance(value, Duration):
        return value.nanos / NANOS
    if isinstance(value, Timestamp):
        return datetime.fromtimestamp(value.nanos / NANOS, UTC)
    return value


def time_from(source: ExpressionFrom | None) -> Callable[[Tree, datetime], datetime | float | None] | None:
    """Return a function that reads a time or seconds from an object; its result is None without a value. Raises
    TemplateError.
    """
    if source is None:
        return None
    value_of = _first_value(source)

    def read(obj: Tree, _now: datetime) -> datetime | float | None:
        text = value_of(obj)
        if isinstance(text, datetime | float):
            return text
        if not isinstance(text, str) or not text:
            return None
        for reader in (parse_time, parse_duration):
            try:
                return reader(text)
            except ValueError:
                continue
        return None

    return read


def weight_from(source: ExpressionFrom, otherwise: int) -> Callable[[Tree], int | None]:
    """Return a function that reads a stage's weight from an object; its result is None if not a number. Raises
    TemplateError.
    """
    value_of = _first_value(source)

    def read(obj: Tree) -> int | None:
        value = value_of(obj)
        if value is None:
            return otherwise
        try:
            return int(value)
        except (TypeError, ValueError, OverflowError):
            return None

    return read
