"""Custom objects and defaults against their OpenAPI v3 schema, with the texts that kube-openapi's validator gives."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery import field
from steersman.apimachinery.field import Path
from steersman.apimachinery.gotext import to_json

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from steersman.apimachinery.field import FieldError

Tree = dict[str, Any]

_ERRORS_MAX: Final = 100


def validate(schema: Tree, obj: Tree) -> list[FieldError]:
    """Everything that is wrong with an object, metadata excepted (that is checked as everybody's is)."""
    content = {k: v for k, v in obj.items() if k not in _ENVELOPE}
    # An answer must not grow with what a client sends.
    return list(islice(_properties(schema, content, None, unasked=_ENVELOPE), _ERRORS_MAX))


def validate_value(schema: Tree, value: Any) -> Iterator[FieldError]:
    """Everything that is wrong with a value without a name: paths begin below it, and are empty for the value itself."""
    yield from _value(schema, value, None)


_ENVELOPE: Final = ("apiVersion", "kind", "metadata")


def _child(path: Path | None, name: str) -> Path:
    return path.child(name) if path is not None else Path(name)


def _index(path: Path | None, position: int) -> Path:
    return path.index(position) if path is not None else Path(f"[{position}]")


def _text(path: Path | None) -> str:
    return "" if path is None else str(path)


def _value(schema: Tree, value: Any, path: Path | None) -> Iterator[FieldError]:
    if value is None:
        if not schema.get("nullable") and schema.get("type"):
            yield _wrong_type(schema, value, path)
        return
    if schema.get("x-kubernetes-int-or-string"):
        if isinstance(value, bool) or not isinstance(value, int | str):
            detail = f"{_text(path)} in body must be of type integer,string: {_shown(value)}"
            yield field.type_invalid(_text(path), json_type(value), detail)
            return
    elif not _fits(schema.get("type"), value):
        yield _wrong_type(schema, value, path)
        return
    yield from _common(schema, value, path)
    if isinstance(value, dict):
        yield from _object(schema, value, path)
    elif isinstance(value, list):
        yield from _list(schema, value, path)
    elif isinstance(value, str):
        yield from _string(schema, value, path)
    elif not isinstance(value, bool):
        yield from _number(schema, value, path)


def _wrong_type(schema: Tree, value: Any, path: Path | None) -> FieldError:
    kind = json_type(value)
    return field.type_invalid(
        _text(path), kind, f'{_text(path)} in body must be of type {schema.get("type")}: "{kind}"'
    )


def json_type(value: Any) -> str:
    """The name of a value's JSON type, integers told from other numbers."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _fits(type_: str | None, value: Any) -> bool:
    kind = json_type(value)
    if type_ in (None, "", kind):
        return True
    whole = kind == "number" and float(value).is_integer()
    return (type_ == "number" and kind == "integer") or (type_ == "integer" and whole)


def _shown(value: Any) -> str:
    return f'"{json_type(value)}"'


def _common(schema: Tree, value: Any, path: Path | None) -> Iterator[FieldError]:
    enum = schema.get("enum")
    if enum is not None and not any(type(value) is type(e) and value == e for e in enum):
        yield field.not_supported(_text(path), value, [e if isinstance(e, str) else to_json(e) for e in enum])
    for part in schema.get("allOf") or ():
        yield from _value(part, value, path)
    any_of = schema.get("anyOf") or ()
    if any_of and not any(next(_value(p, value, path), None) is None for p in any_of):
        yield field.invalid(_text(path), "", f'"{_text(path)}" must validate at least one schema (anyOf)')
    one_of = schema.get("oneOf") or ()
    if one_of and sum(next(_value(p, value, path), None) is None for p in one_of) != 1:
        yield field.invalid(_text(path), "", f'"{_text(path)}" must validate one and only one schema (oneOf)')
    negated = schema.get("not")
    if negated and next(_value(negated, value, path), None) is None:
        yield field.invalid(_text(path), "", f'"{_text(path)}" must not validate the schema (not)')


def _object(schema: Tree, value: Tree, path: Path | None) -> Iterator[FieldError]:
    yield from _properties(schema, value, path)
    least, most = schema.get("minProperties"), schema.get("maxProperties")
    if least is not None and len(value) < least:
        yield field.invalid(_text(path), len(value), f"{_text(path)} in body should have at least {least} properties")
    if most is not None and len(value) > most:
        yield field.too_many(_text(path), len(value), max_items=most)


def _properties(schema: Tree, value: Tree, path: Path | None, *, unasked: Collection[str] = ()) -> Iterator[FieldError]:
    properties = schema.get("properties") or {}
    for name in schema.get("required") or ():
        if name not in value and name not in unasked:
            yield field.required(_child(path, name))
    others = schema.get("additionalProperties")
    for name, item in value.items():
        if name in properties:
            yield from _value(properties[name], item, _child(path, name))
        elif isinstance(others, dict):
            yield from _value(others, item, _child(path, name))


def _list(schema: Tree, value: list[Any], path: Path | None) -> Iterator[FieldError]:
    least, most = schema.get("minItems"), schema.get("maxItems")
    if least is not None and len(value) < least:
        yield field.invalid(_text(path), len(value), f"{_text(path)} in body should have at least {least} items")
    if most is not None and len(value) > most:
        yield field.too_many(_text(path), len(value), max_items=most)
    items = schema.get("items")
    if isinstance(items, dict):
        for index, item in enumerate(value):
            yield from _value(items, item, _index(path, index))
    yield from _unique(schema, value, path)


def _unique(schema: Tree, value: list[Any], path: Path | None) -> Iterator[FieldError]:
    """Sets hold nothing twice, maps no key twice (``x-kubernetes-list-type``)."""
    list_type, keys = schema.get("x-kubernetes-list-type"), schema.get("x-kubernetes-list-map-keys") or ()
    if list_type not in ("set", "map"):
        return
    seen: set[str] = set()
    for index, item in enumerate(value):
        known = {key: item.get(key) for key in keys} if list_type == "map" and isinstance(item, dict) else item
        text = to_json(known)
        if text in seen:
            yield field.duplicate(_index(path, index), known)
        seen.add(text)


def _string(schema: Tree, value: str, path: Path | None) -> Iterator[FieldError]:
    least, most, pattern = schema.get("minLength"), schema.get("maxLength"), schema.get("pattern")
    if least is not None and len(value) < least:
        yield field.invalid(_text(path), value, f"{_text(path)} in body should be at least {least} chars long")
    if most is not None and len(value) > most:
        yield field.too_long(_text(path), max_bytes=most)
    if pattern:
        compiled = _pattern(pattern)
        if compiled is not None and compiled.search(value) is None:
            yield field.invalid(_text(path), value, f"{_text(path)} in body should match '{pattern}'")


@lru_cache(maxsize=1024)
def _pattern(pattern: str) -> re.Pattern[str] | None:
    """RE2 patterns are nearly all Python's too; one that is not matches everything rather than nothing."""
    try:
        return re.compile(pattern)
    except re.error:
        return None


def _number(schema: Tree, value: float, path: Path | None) -> Iterator[FieldError]:
    least, most, step = schema.get("minimum"), schema.get("maximum"), schema.get("multipleOf")
    if least is not None and (value < least or (schema.get("exclusiveMinimum") and value == least)):
        word = "greater than" if schema.get("exclusiveMinimum") else "greater than or equal to"
        yield field.invalid(_text(path), value, f"{_text(path)} in body should be {word} {to_json(least)}")
    if most is not None and (value > most or (schema.get("exclusiveMaximum") and value == most)):
        word = "less than" if schema.get("exclusiveMaximum") else "less than or equal to"
        yield field.invalid(_text(path), value, f"{_text(path)} in body should be {word} {to_json(most)}")
    if step and value % step:
        yield field.invalid(_text(path), value, f"{_text(path)} in body should be a multiple of {to_json(step)}")
