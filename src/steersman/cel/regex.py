"""Functions with regular expressions: ``matches``, ``find`` and ``findAll``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.regexp import Regexp, RegexpCostError, RegexpError, compile_regexp
from steersman.cel.functions import Function, member
from steersman.cel.types import INT as _INT
from steersman.cel.types import STRING, list_of
from steersman.cel.values import CostError, EvalError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: Upstream charges after the call; here a call above the per-evaluation limit is rejected before it runs.
_COST_MAX: Final = 1_000_000


def matches(text: Any, pattern: Any) -> bool:
    """Report whether the pattern matches anywhere."""
    if not isinstance(text, str):
        raise EvalError("no such overload: matches")
    if not isinstance(pattern, str):
        raise EvalError("no such overload")
    _check_cost(text, pattern)
    try:
        return compile_regexp(pattern).matches(text)
    except RegexpError as error:
        raise EvalError(str(error)) from None
    except RegexpCostError:
        raise CostError from None


def _find(text: str, pattern: str) -> str:
    _check_cost(text, pattern)
    try:
        return _compiled(pattern).find(text)
    except RegexpCostError:
        raise CostError from None


def _find_all(text: str, pattern: str, count: int = -1) -> list[str]:
    _check_cost(text, pattern)
    try:
        return _compiled(pattern).find_all(text, count)
    except RegexpCostError:
        raise CostError from None


def _compiled(pattern: str) -> Regexp:
    try:
        return compile_regexp(pattern)
    except RegexpError as error:
        raise EvalError(f"Illegal regex: {error}") from None


def _check_cost(text: str, pattern: str) -> None:
    if cost((text, pattern), None) > _COST_MAX:
        raise CostError


def cost(args: Sequence[Any], _: Any) -> int:
    """Return a tenth of the text length times a quarter of the pattern length."""
    return -(-(1 + len(args[0])) // 10) * -(-len(args[1]) // 4)


def functions() -> Iterator[Function]:
    """Return the functions of Kubernetes' own library (``library.Regex``)."""
    yield Function("find", [member("string_find_string", (STRING, STRING), STRING, _find)], cost=cost)
    strings = list_of(STRING)
    yield Function(
        "findAll",
        [
            member("string_find_all_string", (STRING, STRING), strings, _find_all),
            member("string_find_all_string_int", (STRING, STRING, _INT), strings, _find_all),
        ],
        cost=cost,
    )
