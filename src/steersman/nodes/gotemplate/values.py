"""Go's semantics of values: truth, formatting, iteration, comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.gotext import to_value_text
from steersman.nodes.gotemplate.errors import TemplateRenderError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

#: Maximum of ``range`` over an integer.
_NUMBERS_MAX: Final = 20_000


def is_true(value: Any) -> bool:
    """Report whether a value is not zero, the empty string, an empty collection or nil."""
    return bool(value)


def text_of(value: Any) -> str:
    """Format a value as an action does."""
    if isinstance(value, str):
        return value
    return "<no value>" if value is None else to_value_text(value)


def pairs(value: Any) -> list[tuple[Any, Any]]:
    """Return index and item of a list, key and value of a map in key order, or the integers below a number."""
    if value is None:
        return []
    if isinstance(value, dict):
        return [(key, value[key]) for key in sorted(value)]
    if isinstance(value, list | tuple):
        return list(enumerate(value))
    if isinstance(value, int) and not isinstance(value, bool):
        if value > _NUMBERS_MAX:
            raise TemplateRenderError(f"range over {value} takes too many steps")
        return [(number, number) for number in range(value)]
    raise TemplateRenderError(f"range can't iterate over {text_of(value)}")


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    return "text" if isinstance(value, str) else "other"


def equal(value: Any, *others: Any) -> bool:
    """True if the value equals any of the others; raise for values of different kinds, except nil."""
    if not others:
        raise TemplateRenderError("error calling eq: missing argument for comparison")
    for other in others:
        if value is None or other is None:
            if value is other:
                return True
            continue
        if _kind(value) != _kind(other):
            raise TemplateRenderError("error calling eq: incompatible types for comparison")
        if _kind(value) == "other":
            raise TemplateRenderError("error calling eq: non-comparable type")
        if value == other:
            return True
    return False


def less(left: Any, right: Any) -> bool:
    """True if the first number or text is less than the second."""
    if _kind(left) != _kind(right) or _kind(left) in ("bool", "other"):
        raise TemplateRenderError("error calling lt: incompatible types for comparison")
    return bool(left < right)


def _int64(number: float) -> int:
    if isinstance(number, float) and not number.is_integer():
        raise TemplateRenderError(f'error calling Int64: strconv.ParseInt: parsing "{text_of(number)}": invalid syntax')
    return int(number)


#: Methods of ``encoding/json.Number``, to which KWOK decodes numbers.
NUMBER_METHODS: Final[Mapping[str, Callable[[float], Any]]] = {"Int64": _int64, "Float64": float, "String": text_of}
