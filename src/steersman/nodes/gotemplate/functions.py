"""Functions of templates: Go's built-ins, the functions of sprig that stages use, and KWOK's ``Quote`` and ``YAML``."""

from __future__ import annotations

import base64
import hashlib
import math
import re
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.codec import decode_json
from steersman.apimachinery.gotext import quote, to_json, to_value_text
from steersman.apimachinery.regexp import RegexpCostError, RegexpError, compile_regexp
from steersman.apimachinery.yaml_codec import encode_yaml
from steersman.nodes.gotemplate.errors import TemplateRenderError
from steersman.nodes.gotemplate.values import equal, is_true, less, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_VERB: Final = re.compile(r"%([-+ 0#]*)(\d*|\*)(?:\.(\d+|\*))?([a-zA-Z%])")
#: Maximum size of a function's result: items of a list, characters of a text.
_SIZE_MAX: Final = 1_000_000
#: Number of digits that implies a number larger than ``_SIZE_MAX``.
_DIGITS_MAX: Final = 9


def _index(value: Any, *keys: Any) -> Any:
    for key in keys:
        if value is None:
            raise TemplateRenderError("error calling index: index of untyped nil")
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list | str):
            if isinstance(key, bool) or not isinstance(key, int):
                raise TemplateRenderError(f"error calling index: cannot index slice/array with {text_of(key)}")
            if not 0 <= key < len(value):
                raise TemplateRenderError(f"error calling index: index out of range: {key}")
            value = value[key]
        else:
            raise TemplateRenderError(f"error calling index: can't index item of {text_of(value)}")
    return value


def _slice(value: Any, *bounds: int) -> Any:
    return value[slice(*(bounds if len(bounds) != 1 else (bounds[0], None)))]


def _print(*values: Any) -> str:
    """Format as Go's ``Sprint``: a space between two operands when neither is a string."""
    text = ""
    for at, value in enumerate(values):
        if at and not isinstance(value, str) and not isinstance(values[at - 1], str):
            text += " "
        text += _value_text(value)
    return text


def _value_text(value: Any) -> str:
    return value if isinstance(value, str) else to_value_text(value)


def _printf(form: str, *values: Any) -> str:
    """Format as Go's ``Sprintf``; ``*`` reads the width or the precision from the next argument."""
    remaining = list(values)
    room = _SIZE_MAX

    def spend(size: int) -> int:
        """Return a width or precision. Raises ValueError when their sum is too large."""
        nonlocal room
        room -= abs(size)
        if room < 0:
            raise ValueError("the text is too long")
        return size

    def number(text: str | None) -> int | None:
        if text != "*":
            if not text:
                return None
            return spend(int(text) if len(text) < _DIGITS_MAX else _SIZE_MAX + 1)
        argument = remaining.pop(0) if remaining else None
        return None if isinstance(argument, bool) or not isinstance(argument, int) else spend(argument)

    def written(match: re.Match[str]) -> str:
        flags, given_width, given_precision, verb = match.groups()
        width, precision = number(given_width) or 0, number(given_precision)
        if verb == "%":
            return "%"
        if not remaining:
            return f"%!{verb}(MISSING)"
        text = _formatted(remaining.pop(0), verb, flags, precision)
        if "-" in flags or width < 0:
            return text.ljust(abs(width))
        return text.zfill(width) if "0" in flags else text.rjust(width)

    return _VERB.sub(written, form)


def _formatted(value: Any, verb: str, flags: str, precision: int | None) -> str:
    match verb:
        case "v" | "s":
            text = _value_text(value)
            return text if precision is None or verb == "v" else text[:precision]
        case "q":
            return quote(_value_text(value))
        case "d":
            return f"{value:+d}" if "+" in flags else f"{value:d}"
        case "x" | "X" | "o" | "b":
            return format(value, verb)
        case "t" if isinstance(value, bool):
            return _value_text(value)
        case "f" | "e" | "g":
            return format(value, f".{6 if precision is None else precision}{verb}")
    return f"%!{verb}({_value_text(value)})"


def _quote_for_yaml(value: Any) -> str:
    json_text = to_json(value)
    return json_text if json_text.startswith('"') else quote(json_text)


def _yaml(value: Any, indent: int = 0) -> str:
    """Format as block YAML with an indent of two spaces."""
    text = encode_yaml(value).decode()
    _check_size(max(0, indent) * 2 * text.count("\n"))
    return ("\n" + text).replace("\n", "\n" + "  " * indent) if indent > 0 else text


def _dict(*items: Any) -> dict[str, Any]:
    keys, values = items[::2], items[1::2]
    return {_value_text(key): values[at] if at < len(values) else "" for at, key in enumerate(keys)}


def _set(target: dict[str, Any], key: str, value: Any) -> dict[str, Any]:
    target[key] = value
    return target


def _int(value: Any) -> int:
    """Convert to an int64 with Go's overflow; 0 for values that are no numbers."""
    try:
        return _wrapped(int(float(value)) if isinstance(value, str) and "." in value else int(value or 0))
    except (ValueError, OverflowError):
        return 0


def _wrapped(number: int) -> int:
    """Return the number modulo 64 bits, as Go's arithmetic."""
    return (number + 2**63) % 2**64 - 2**63


def _float(value: Any) -> float:
    try:
        return float(value or 0)
    except ValueError:
        return 0.0


def _product(*values: Any) -> int:
    product = 1
    for value in values:
        product = _wrapped(product * _int(value))
    return product


def _round(value: Any, digits: int, half: float = 0.5) -> float:
    """Round; fractions of at least ``half`` are rounded away from zero."""
    scaled = _float(value) * 10**digits
    whole, rest = math.floor(abs(scaled)), abs(scaled) % 1
    return float(math.copysign(whole + (rest >= half), scaled) / 10**digits)


def _divided(left: Any, right: Any) -> int:
    """Divide, truncating towards zero."""
    dividend, divisor = _int(left), _int(right)
    if divisor == 0:
        raise ZeroDivisionError("division by zero")
    quotient = abs(dividend) // abs(divisor)
    return _wrapped(quotient if (dividend < 0) == (divisor < 0) else -quotient)


def _until(*bounds: Any) -> list[int]:
    numbers = range(*map(_int, bounds))
    if len(numbers) > _SIZE_MAX:
        raise ValueError(f"{len(numbers)} numbers are too many")
    return list(numbers)


def _repeat(count: Any, text: Any) -> str:
    text_value = _value_text(text)
    _check_size(len(text_value) * _int(count))
    return text_value * _int(count)


def _replace(old: str, new: str, text: str) -> str:
    _check_size(text.count(old) * len(new))
    return text.replace(old, new)


def _check_size(size: int) -> None:
    """Raise ValueError if a text of this size is too large."""
    if size > _SIZE_MAX:
        raise ValueError("the text is too long")


def _indent(spaces: int, text: str) -> str:
    count = max(0, _int(spaces))
    _check_size(count * (text.count("\n") + 1))
    pad = " " * count
    return pad + text.replace("\n", "\n" + pad)


def _join(separator: str, values: Any) -> str:
    items = values if isinstance(values, list | tuple) else [values]
    _check_size(len(separator) * len(items))
    return separator.join(map(_value_text, items))


def _title(text: str) -> str:
    return re.sub(r"\b[a-z]", lambda match: match[0].upper(), text)


def _dig(*arguments: Any) -> Any:
    """Return a nested value: ``dig KEY... DEFAULT OBJECT``."""
    *keys, default, value = arguments
    for key in keys:
        if not isinstance(value, dict) or key not in value:
            return default
        value = value[key]
    return value


def _kind(value: Any) -> str:
    """Return the kind of a JSON value as Go's ``reflect`` names it."""
    names = {bool: "bool", str: "string", int: "int64", float: "float64", list: "slice", dict: "map"}
    return names.get(type(value), "invalid")


def _regex_find(pattern: str, text: str) -> str:
    try:
        return compile_regexp(pattern).find(text)
    except (RegexpError, RegexpCostError) as error:
        raise TemplateRenderError(str(error)) from None


def _regex_match(pattern: str, text: str) -> bool:
    try:
        return compile_regexp(pattern).matches(text)
    except (RegexpError, RegexpCostError) as error:
        raise TemplateRenderError(str(error)) from None


def _fail(message: str) -> Any:
    raise TemplateRenderError(message)


_GO: Final[Mapping[str, Callable[..., Any]]] = {
    "not": lambda value: not is_true(value),
    "eq": equal,
    "ne": lambda left, right: not equal(left, right),
    "lt": less,
    "le": lambda left, right: less(left, right) or left == right,
    "gt": lambda left, right: not less(left, right) and left != right,
    "ge": lambda left, right: not less(left, right),
    "index": _index,
    "slice": _slice,
    "len": len,
    "print": _print,
    "println": lambda *values: " ".join(map(_value_text, values)) + "\n",
    "printf": _printf,
}
_KWOK: Final[Mapping[str, Callable[..., Any]]] = {"Quote": _quote_for_yaml, "YAML": _yaml}
_NUMBERS: Final[Mapping[str, Callable[..., Any]]] = {
    "add": lambda *values: _wrapped(sum(map(_int, values))),
    "add1": lambda value: _wrapped(_int(value) + 1),
    "sub": lambda left, right: _wrapped(_int(left) - _int(right)),
    "mul": _product,
    "div": _divided,
    "mod": lambda left, right: _int(left) - _int(right) * _divided(left, right),
    "max": lambda *values: max(map(_int, values)),
    "min": lambda *values: min(map(_int, values)),
    "int": _int,
    "int64": _int,
    "float64": _float,
    "atoi": _int,
    "until": _until,
    "untilStep": _until,
}
_FLOATS: Final[Mapping[str, Callable[..., Any]]] = {
    "addf": lambda *values: math.fsum(map(_float, values)),
    "subf": lambda first, *values: _float(first) - math.fsum(map(_float, values)),
    "mulf": lambda *values: math.prod(map(_float, values)),
    "divf": lambda first, *values: _float(first) / math.prod(map(_float, values)),
    "maxf": lambda *values: max(map(_float, values)),
    "minf": lambda *values: min(map(_float, values)),
    "ceil": lambda value: float(math.ceil(_float(value))),
    "floor": lambda value: float(math.floor(_float(value))),
    "round": _round,
    "toDecimal": lambda value: int(str(value), 8),
}
_TEXTS: Final[Mapping[str, Callable[..., Any]]] = {
    "toString": _value_text,
    "quote": lambda *values: " ".join(quote(_value_text(value)) for value in values if value is not None),
    "squote": lambda *values: " ".join(f"'{_value_text(value)}'" for value in values if value is not None),
    "upper": lambda text: text.upper(),
    "lower": lambda text: text.lower(),
    "title": _title,
    "trim": lambda text: text.strip(),
    "trimPrefix": lambda prefix, text: text.removeprefix(prefix),
    "trimSuffix": lambda suffix, text: text.removesuffix(suffix),
    "contains": lambda part, text: part in text,
    "hasPrefix": lambda prefix, text: text.startswith(prefix),
    "hasSuffix": lambda suffix, text: text.endswith(suffix),
    "replace": _replace,
    "trunc": lambda length, text: text[:length] if length >= 0 else text[length:],
    "repeat": _repeat,
    "indent": _indent,
    "nindent": lambda spaces, text: "\n" + _indent(spaces, text),
    "join": _join,
    "splitList": lambda separator, text: text.split(separator),
    "regexFind": _regex_find,
    "regexReplaceAll": lambda pattern, text, by: re.sub(pattern, re.sub(r"\$\{?(\d+)\}?", r"\\\1", by), text),
    "substr": lambda start, end, text: text[max(start, 0) : end if end >= 0 else None],
    "nospace": lambda text: re.sub(r"\s", "", text),
    "trimAll": lambda signs, text: text.strip(signs),
    "cat": lambda *values: " ".join(_value_text(value) for value in values if value is not None),
    "sha1sum": lambda text: hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest(),
    "regexMatch": _regex_match,
    "toJson": to_json,
    "fromJson": lambda text: decode_json(text.encode()),
    "b64enc": lambda text: base64.b64encode(text.encode()).decode(),
    "b64dec": lambda text: base64.b64decode(text).decode(),
    "sha256sum": lambda text: hashlib.sha256(text.encode()).hexdigest(),
}
_COLLECTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "list": lambda *values: list(values),
    "dict": _dict,
    "get": lambda of, key: of.get(key, ""),
    "set": _set,
    "hasKey": lambda of, key: key in of,
    "keys": lambda *of: [key for mapping in of for key in sorted(mapping)],
    "values": lambda of: [of[key] for key in sorted(of)],
    "first": lambda of: of[0] if of else None,
    "last": lambda of: of[-1] if of else None,
    "rest": lambda of: of[1:],
    "has": lambda value, of: value in (of or ()),
    "append": lambda of, value: [*of, value],
    "concat": lambda *of: [value for sequence in of for value in sequence],
    "default": lambda fallback, value=None: value if is_true(value) else fallback,
    "tuple": lambda *values: list(values),
    "initial": lambda of: of[:-1],
    "reverse": lambda of: of[::-1],
    "prepend": lambda of, value: [value, *of],
    "uniq": lambda of: [item for at, item in enumerate(of) if item not in of[:at]],
    "without": lambda of, *values: [item for item in of if item not in values],
    "compact": lambda of: [item for item in of if is_true(item)],
    "sortAlpha": lambda of: sorted(map(_value_text, of)),
    "pick": lambda of, *keys: {key: of[key] for key in keys if key in of},
    "omit": lambda of, *keys: {key: value for key, value in of.items() if key not in keys},
    "unset": lambda of, key: {name: value for name, value in of.items() if name != key},
    "merge": lambda target, *others: {
        key: value for mapping in (*others[::-1], target) for key, value in mapping.items()
    },
    "dig": _dig,
    "kindIs": lambda kind, value: _kind(value) == kind,
    "kindOf": _kind,
    "coalesce": lambda *values: next((value for value in values if is_true(value)), None),
    "empty": lambda value: not is_true(value),
    "ternary": lambda then, otherwise, condition: then if condition else otherwise,
    "fail": _fail,
}

#: Functions by name, without ``and`` and ``or``, which do not evaluate all arguments.
FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {**_GO, **_KWOK, **_NUMBERS, **_FLOATS, **_TEXTS, **_COLLECTIONS}
