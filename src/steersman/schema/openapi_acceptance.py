"""Recognition of valid custom objects, without descriptions of errors.

Nearly all written objects are valid. ``Acceptor.accepts`` is True only for values for which ``openapi_values.validate``
finds no error. False means that the value may be invalid, or that its schema has keywords that are left to ``validate``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.regexp import RegexpCostError, RegexpError, compile_regexp
from steersman.apimachinery.workmeter import spend
from steersman.schema import openapi_formats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.apimachinery.trees import Tree

#: Work meter charge of one value.
_UNITS_PER_VALUE: Final = 4
#: Integers that JSON numbers represent exactly.
_EXACT_MAX: Final = 2**53 - 1
#: Keywords that are left to ``validate``.
_UNUSUAL: Final = ("oneOf", "multipleOf", "not")
_JSON_TYPES: Final = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}


class Acceptor:
    """One schema; those of its fields are prepared when a value first has the field."""

    __slots__ = (
        "_acceptors",
        "_alternatives",
        "_enum",
        "_format",
        "_is_combined",
        "_is_nullable",
        "_is_unusual",
        "_items",
        "_length_max",
        "_length_min",
        "_maximum",
        "_minimum",
        "_number_format",
        "_others",
        "_parts",
        "_pattern",
        "_schema",
        "_types",
        "_unrestricted",
    )

    def __init__(self, schema: Tree) -> None:
        self._schema: Final = schema
        type_ = schema.get("type") or ""
        types = ("integer", "string") if schema.get("x-kubernetes-int-or-string") else (type_,) if type_ else ()
        #: JSON types of values; empty for any.
        self._types: Final = frozenset(types) | (frozenset(("integer",)) if "number" in types else frozenset())
        self._is_nullable: Final = not types or bool(schema.get("nullable"))
        enum: Sequence[Any] = schema.get("enum") or ()
        #: Texts of the enumeration; None without one.
        self._enum: Final = frozenset(value for value in enum if isinstance(value, str)) if enum else None
        format_ = schema.get("format") or ""
        if not openapi_formats.is_supported(format_, type_):
            format_ = ""
        of_numbers = type_ in ("integer", "number")
        self._number_format: Final = format_ if of_numbers else ""
        #: Format of strings; empty for none that is validated.
        self._format: Final = "" if of_numbers else format_
        self._is_unusual: Final = bool(self._format and types != ("string",)) or any(
            schema.get(name) not in (None, [], 0) for name in _UNUSUAL
        )
        self._alternatives: Final = [Acceptor(alternative) for alternative in schema.get("anyOf") or ()]
        self._parts: Final = [Acceptor(part) for part in schema.get("allOf") or ()]
        self._is_combined: Final = bool(self._alternatives or self._parts)
        self._length_min: Final[Any] = schema.get("minLength")
        self._length_max: Final[Any] = schema.get("maxLength")
        self._pattern: Final[str] = schema.get("pattern") or ""
        self._minimum: Final[Any] = schema.get("minimum")
        self._maximum: Final[Any] = schema.get("maximum")
        #: JSON types all of whose values are valid.
        self._unrestricted: Final = self._unrestricted_types()
        self._acceptors: Final[dict[str, Acceptor]] = {}
        self._others: Acceptor | None = None
        self._items: Acceptor | None = None

    def _unrestricted_types(self) -> frozenset[str]:
        if self._is_unusual or self._is_combined or self._enum is not None:
            return frozenset()
        is_text_limited = self._pattern or self._format or self._length_min is not None or self._length_max is not None
        types = frozenset(("boolean",)) if is_text_limited else frozenset(("boolean", "string"))
        return types & self._types if self._types else types

    def accepts(self, value: Any) -> bool:
        """True if the value is valid for certain. Lists and objects spend from the work meter."""
        json_type = _JSON_TYPES.get(type(value))
        if json_type in self._unrestricted:
            return True
        if value is None:
            return self._is_nullable and self._enum is None and not self._is_unusual
        if json_type is None or self._is_unusual or (self._types and json_type not in self._types):
            return False
        if self._is_combined and not self._accepts_combined(value):
            return False
        if json_type == "string":
            return self._accepts_text(value)
        if self._enum is not None:
            return False
        if json_type == "object":
            return self._accepts_object(value)
        if json_type == "array":
            return self._accepts_list(value)
        return json_type == "boolean" or self._accepts_number(value)

    def _accepts_combined(self, value: Any) -> bool:
        if self._alternatives and not any(alternative.accepts(value) for alternative in self._alternatives):
            return False
        return all(part.accepts(value) for part in self._parts)

    def _accepts_text(self, text: str) -> bool:
        if self._enum is not None and text not in self._enum:
            return False
        least, most = self._length_min, self._length_max
        if (most is not None and len(text) > most) or (least is not None and len(text) < least):
            return False
        if self._pattern and not _matches(self._pattern, text):
            return False
        return not self._format or openapi_formats.fits(self._format, text)

    def _accepts_number(self, number: Any) -> bool:
        get = self._schema.get
        if not -_EXACT_MAX <= number <= _EXACT_MAX:
            return False
        least, most, format_ = self._minimum, self._maximum, self._number_format
        if least is not None and (number < least or (number == least and get("exclusiveMinimum"))):
            return False
        if most is not None and (number > most or (number == most and get("exclusiveMaximum"))):
            return False
        if not format_:
            # A schema of integers only, which has no type for values of ``x-kubernetes-int-or-string``.
            return isinstance(number, int) or get("type") != "integer"
        bounds = (number, *(float(limit) for limit in (least, most) if limit is not None))
        return all(openapi_formats.has_room(format_, bound) for bound in bounds)

    def _accepts_object(self, tree: Tree) -> bool:
        spend(_UNITS_PER_VALUE * (len(tree) + 1))
        get = self._schema.get
        least, most = get("minProperties"), get("maxProperties")
        if (least is not None and len(tree) < least) or (most is not None and len(tree) > most):
            return False
        for name in get("required") or ():
            if name not in tree:
                return False
        acceptors = self._acceptors
        for name, item in tree.items():
            below = acceptors.get(name)
            if below is None:
                below = self._below(name)
            if below is not None and not below.accepts(item):
                return False
        return True

    def _below(self, name: str) -> Acceptor | None:
        """Return the acceptor of a field; None for any value."""
        properties = self._schema.get("properties") or {}
        if name not in properties:  # the names of clients are not kept, as there is no limit to them
            return self._of_others()
        acceptor = self._acceptors[name] = Acceptor(properties[name])
        return acceptor

    def _of_others(self) -> Acceptor | None:
        others = self._schema.get("additionalProperties")
        if not isinstance(others, dict):
            return None
        acceptor = self._others
        if acceptor is None:
            acceptor = self._others = Acceptor(others)
        return acceptor

    def _accepts_list(self, items: list[Any]) -> bool:
        spend(_UNITS_PER_VALUE * (len(items) + 1))
        get = self._schema.get
        least, most = get("minItems"), get("maxItems")
        if (least is not None and len(items) < least) or (most is not None and len(items) > most):
            return False
        schema = get("items")
        if not isinstance(schema, dict):
            return True
        acceptor = self._items
        if acceptor is None:
            acceptor = self._items = Acceptor(schema)
        for item in items:
            if not acceptor.accepts(item):
                return False
        return _are_distinct(items, get("x-kubernetes-list-type"), get("x-kubernetes-list-map-keys") or ())


def _matches(pattern: str, text: str) -> bool:
    try:
        return compile_regexp(pattern).matches(text)
    except (RegexpError, RegexpCostError):
        return False


def _are_distinct(items: list[Any], list_type: Any, keys: Sequence[str]) -> bool:
    """True if items of a set, or the keys of a map's items, are scalars without duplicates."""
    if list_type not in ("set", "map"):
        return True
    seen: set[Any] = set()
    for item in items:
        if list_type == "map":
            if not isinstance(item, dict):
                return False
            item = tuple([item.get(key) for key in keys])
        try:
            seen.add(item)
        except TypeError:  # a list or an object
            return False
    return len(seen) == len(items)
