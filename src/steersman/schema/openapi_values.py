"""Validation of custom objects and defaults against their OpenAPI v3 schema, with kube-openapi's error texts.

Of the alternatives of ``anyOf`` and ``oneOf``, the errors of the one with the most passed checks are reported
(``Result.MatchCount`` upstream); that none matches is an error without a path of its own.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steersman.apimachinery import field
from steersman.apimachinery.field import FieldError, Path
from steersman.apimachinery.gotext import quote, to_json
from steersman.apimachinery.regexp import RegexpCostError, RegexpError, compile_regexp
from steersman.apimachinery.workmeter import spend
from steersman.schema import openapi_formats

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from steersman.apimachinery.trees import Tree


#: Path of the whole object in Go's messages.
NO_PATH: Final = "<nil>"

_ERRORS_MAX: Final = 100
#: Work meter charge of one value under one schema.
_UNITS_PER_VALUE: Final = 16
#: Integers that JSON numbers represent exactly.
_EXACT_MAX: Final = 2**53 - 1
_INT64_END: Final = 2**63
#: Go's numeric types by JSON type.
_GO_FORMATS: Final = {"integer": "int64", "number": "float64"}


class Fault(NamedTuple):
    """Error of a value."""

    #: Path of the value (of the parent object for a missing field); empty for the whole.
    place: str
    error: FieldError


class _Result:
    """Errors of a value, each once, and the number of passed checks."""

    __slots__ = ("faults", "matches")

    def __init__(self) -> None:
        self.faults: dict[str, Fault] = {}
        self.matches = 0

    def add(self, path: Path | None, error: FieldError) -> None:
        # A response must not grow with the request.
        if len(self.faults) < _ERRORS_MAX:
            self.faults.setdefault(str(error), Fault(_text(path), error))

    def merge(self, other: _Result) -> None:
        for text, fault in islice(other.faults.items(), _ERRORS_MAX - len(self.faults)):
            self.faults.setdefault(text, fault)
        self.matches += other.matches


def validate(schema: Tree, obj: Any) -> list[Fault]:
    """Return all errors of an object."""
    return [*_check(schema, obj, None).faults.values(), *islice(_duplicates(schema, obj, None), _ERRORS_MAX)]


def validate_value(schema: Tree, value: Any) -> list[FieldError]:
    """Return all errors of a value without a name: paths begin below it, and are empty for the value itself."""
    return [fault.error for fault in validate(schema, value)]


def placed(error: FieldError, place: str = "") -> FieldError:
    """Return the error with its path below ``place``."""
    path = ".".join(filter(None, (place, error.field))) or NO_PATH
    return FieldError(error.type, path, value=error.value, detail=error.detail)


def _child(path: Path | None, name: str) -> Path:
    return path.child(name) if path is not None else Path(name)


def _index(path: Path | None, position: int) -> Path:
    return path.index(position) if path is not None else Path(f"[{position}]")


def _text(path: Path | None) -> str:
    return "" if path is None else str(path)


def _check(schema: Tree, value: Any, path: Path | None) -> _Result:
    """Check a value against a schema; of a null only the type and the enum are checked."""
    spend(_UNITS_PER_VALUE)
    result = _Result()
    types = (
        ("integer", "string") if schema.get("x-kubernetes-int-or-string") else tuple(filter(None, [schema.get("type")]))
    )
    if value is None:
        if types and not schema.get("nullable"):
            result.add(path, _wrong_type(types, "null", path))
        _check_enum(schema, value, path, result)
        return result
    format_, type_ = schema.get("format") or "", schema.get("type") or ""
    if not openapi_formats.is_supported(format_, type_):
        format_ = ""
    of_numbers = type_ in ("integer", "number")
    if types or format_:
        _check_type(types, format_, value, path, result)
    _check_logic(schema, value, path, result)
    match value:
        case str():
            _check_string(schema, value, path, result)
            if format_ and not of_numbers and not openapi_formats.fits(format_, value):
                detail = f"{_text(path)} in body must be of type {schema['format']}: {quote(value)}"
                result.add(path, field.type_invalid(_text(path), value, detail))
        case list():
            _check_list(schema, value, path, result)
        case int() | float() if not isinstance(value, bool):
            _check_number(schema, value, path, result, format_ if of_numbers else "")
    _check_enum(schema, value, path, result)
    if isinstance(value, dict):
        _check_object(schema, value, path, result)
    result.matches += 1
    return result


def _wrong_type(types: Sequence[str], type_name: str, path: Path | None) -> FieldError:
    detail = f"{_text(path)} in body must be of type {','.join(types)}: {quote(type_name)}"
    return field.type_invalid(_text(path), type_name, detail)


def json_type(value: Any) -> str:
    """Return the JSON type name; integers differ from other numbers, and from those beyond Go's range."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer" if -_INT64_END <= value < _INT64_END else "number"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _check_type(types: Sequence[str], format_: str, value: Any, path: Path | None, result: _Result) -> None:
    kind = json_type(value)
    whole = kind == "number" and "integer" in types and abs(value) <= _EXACT_MAX and float(value).is_integer()
    fits = kind in types or whole or (kind == "integer" and "number" in types)
    go_format = _GO_FORMATS.get(kind, "")
    if format_ and kind not in ("string", "array") and not fits and go_format != format_:
        result.add(path, _wrong_type([format_], go_format, path))
    # a format determines the type of its values
    elif not fits and not (format_ and kind in ("string", "array") and not {"number", "integer"} & set(types)):
        result.add(path, _wrong_type(types, kind, path))
    else:
        result.matches += 1


def _check_enum(schema: Tree, value: Any, path: Path | None, result: _Result) -> None:
    enum = schema.get("enum")
    if enum and not any(_is_same(value, allowed_value) for allowed_value in enum):
        shown = "" if value is None else value
        allowed = [value_ if isinstance(value_, str) else to_json(value_) for value_ in enum]
        result.add(path, field.not_supported(_text(path), shown, allowed))


def _is_same(value: Any, allowed_value: Any) -> bool:
    """Report equality: numbers by value, absent equals null."""
    if value is None or allowed_value is None or isinstance(value, bool) is not isinstance(allowed_value, bool):
        return False
    return bool(value == allowed_value)


def _check_logic(schema: Tree, value: Any, path: Path | None, result: _Result) -> None:
    if any_of := schema.get("anyOf"):
        _check_any(any_of, value, path, result)
    if one_of := schema.get("oneOf"):
        _check_one(one_of, value, path, result)
    if all_of := schema.get("allOf"):
        parts = [_check(part, value, path) for part in all_of]
        for part in parts:
            result.merge(part)
        if faulty := sum(bool(part.faults) for part in parts):
            none = ". None validated" if faulty == len(parts) else ""
            _add_unplaced(f"{quote(_text(path))} must validate all the schemas (allOf){none}", path, result)
    negated = schema.get("not")
    if negated is not None and not _check(negated, value, path).faults:
        _add_unplaced(f"{quote(_text(path))} must not validate the schema (not)", path, result)
    result.matches += 1


def _check_any(alternatives: Sequence[Tree], value: Any, path: Path | None, result: _Result) -> None:
    best: _Result | None = None
    for alternative in alternatives:
        check = _check(alternative, value, path)
        if not check.faults:
            result.merge(check)
            return
        best = check if best is None or check.matches > best.matches else best
    _add_unplaced(f"{quote(_text(path))} must validate at least one schema (anyOf)", path, result)
    if best is not None:
        result.merge(best)


def _check_one(alternatives: Sequence[Tree], value: Any, path: Path | None, result: _Result) -> None:
    results = [_check(alternative, value, path) for alternative in alternatives]
    fitting = [result for result in results if not result.faults]
    if len(fitting) == 1:
        result.merge(fitting[0])
        return
    many = f"Found {len(fitting)} valid alternatives" if fitting else "Found none valid"
    _add_unplaced(f"{quote(_text(path))} must validate one and only one schema (oneOf). {many}", path, result)
    if not fitting:
        result.merge(max(results, key=lambda result: result.matches))


def _add_unplaced(detail: str, path: Path | None, result: _Result) -> None:
    result.add(path, field.invalid("", "", detail))


def _check_object(schema: Tree, value: Tree, path: Path | None, result: _Result) -> None:
    least, most = schema.get("minProperties"), schema.get("maxProperties")
    if least is not None and len(value) < least:
        detail = f"{_text(path)} in body should have at least {least} properties"
        result.add(path, field.invalid(_text(path), len(value), detail))
        return
    if most is not None and len(value) > most:
        result.add(path, field.too_many(_text(path), len(value), max_items=most))
        return
    for name, below, item in _fields(schema, value):
        result.merge(_check(below, item, _child(path, name)))
    for name in schema.get("required") or ():
        if name not in value:
            result.add(path, field.required(_child(path, name)))


def _fields(schema: Tree, value: Tree) -> Iterator[tuple[str, Tree, Any]]:
    """Return the fields of an object that its schema specifies."""
    properties, others = schema.get("properties") or {}, schema.get("additionalProperties")
    for name, item in value.items():
        below = properties.get(name, others)
        if isinstance(below, dict):
            yield name, below, item


def _check_list(schema: Tree, value: list[Any], path: Path | None, result: _Result) -> None:
    items = schema.get("items")
    if isinstance(items, dict):
        for position, item in enumerate(value):
            result.merge(_check(items, item, _index(path, position)))
    least, most = schema.get("minItems"), schema.get("maxItems")
    if least is not None and len(value) < least:
        detail = f"{_text(path)} in body should have at least {least} items"
        result.add(path, field.invalid(_text(path), len(value), detail))
    if most is not None and len(value) > most:
        result.add(path, field.too_many(_text(path), len(value), max_items=most))


def _duplicates(schema: Tree, value: Any, path: Path | None) -> Iterator[Fault]:
    """Return duplicates of sets and of map keys (``x-kubernetes-list-type``), each once."""
    if isinstance(value, dict):
        for name, below, item in _fields(schema, value):
            yield from _duplicates(below, item, _child(path, name))
    items = schema.get("items")
    if not isinstance(value, list) or not isinstance(items, dict):
        return
    list_type, keys = schema.get("x-kubernetes-list-type"), schema.get("x-kubernetes-list-map-keys") or ()
    times: dict[str, int] = {}
    for position, item in enumerate(value if list_type in ("set", "map") else ()):
        key_fields = {key: item.get(key) for key in keys} if list_type == "map" and isinstance(item, dict) else item
        text = to_json(key_fields)
        times[text] = times.get(text, 0) + 1
        if times[text] == 2:
            item_path = _index(path, position)
            yield Fault(str(item_path), field.duplicate(item_path, key_fields))
    for position, item in enumerate(value):
        yield from _duplicates(items, item, _index(path, position))


def _check_string(schema: Tree, value: str, path: Path | None, result: _Result) -> None:
    """Check a string; only the first error is reported."""
    least, most, pattern = schema.get("minLength"), schema.get("maxLength"), schema.get("pattern")
    if most is not None and len(value) > most:
        result.add(path, field.too_long(_text(path), max_bytes=most))
    elif least is not None and len(value) < least:
        detail = f"{_text(path)} in body should be at least {least} chars long"
        result.add(path, field.invalid(_text(path), value, detail))
    elif pattern and (mismatch := _mismatch(pattern, value)):
        result.add(path, field.invalid(_text(path), value, f"{_text(path)} in body should match '{mismatch}'"))


def _mismatch(pattern: str, text: str) -> str:
    """Return the pattern that the text fails to match, as printed in messages; empty if it matches."""
    try:
        return "" if compile_regexp(pattern).matches(text) else pattern
    except RegexpError as error:
        return f"{pattern}, but pattern is invalid: {error}"
    except RegexpCostError:
        return f"{pattern}, but the text is too long for the pattern"


def _is_int64(value: Any) -> bool:  # not ``float``, to which the compiler converts integers
    return float(value).is_integer() and -_INT64_END <= value < _INT64_END


def _check_number(schema: Tree, value: Any, path: Path | None, result: _Result, format_: str) -> None:
    """Check a number; a format must contain the number, and its bounds."""
    least: Any = schema.get("minimum")
    most: Any = schema.get("maximum")
    step: Any = schema.get("multipleOf")

    def check_room(number: Any, name: str) -> None:
        if format_ and number is not None and not openapi_formats.has_room(format_, number):
            value_name = f"{schema['type']} with format {format_} in {_text(path)}"
            _add_unplaced(f"{name} value must be of type {value_name}", path, result)

    check_room(value, "Checked")
    if not format_ and schema.get("type") == "integer" and not _is_int64(value):
        _add_unplaced(f"Checked value must be of type integer (default format) in {_text(path)}", path, result)
    check_room(step if step is None else float(step), "MultipleOf")
    if step and value % step:
        detail = f"{_text(path)} in body should be a multiple of {to_json(step)}"
        result.add(path, field.invalid(_text(path), value, detail))
    check_room(least if least is None else float(least), "Minimum boundary")
    if least is not None and (value < least or (schema.get("exclusiveMinimum") and value == least)):
        word = "greater than" if schema.get("exclusiveMinimum") else "greater than or equal to"
        detail = f"{_text(path)} in body should be {word} {to_json(least)}"
        result.add(path, field.invalid(_text(path), value, detail))
    check_room(most if most is None else float(most), "Maximum boundary")
    if most is not None and (value > most or (schema.get("exclusiveMaximum") and value == most)):
        word = "less than" if schema.get("exclusiveMaximum") else "less than or equal to"
        detail = f"{_text(path)} in body should be {word} {to_json(most)}"
        result.add(path, field.invalid(_text(path), value, detail))
    result.matches += 1
