"""Field paths and field errors: the causes of a 422. Upstream: ``k8s.io/apimachinery/pkg/util/validation/field``."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.gotext import float_text, quote, to_json

if TYPE_CHECKING:
    from collections.abc import Iterable


class Path:
    """Path from the root of an object to a value: ``Path("spec").child("containers").index(0)``.

    Immutable; children share their parent. Rendered only when an error needs its text.
    """

    __slots__ = ("_name", "_parent", "_subscript")

    def __init__(self, name: str, *more: str, parent: Path | None = None, subscript: str = "") -> None:
        for step in more:
            parent, name = Path(name, parent=parent), step
        self._parent: Final = parent
        self._name: Final = name
        self._subscript: Final = subscript

    def child(self, name: str, *more: str) -> Path:
        """Return the path of a field, or of a field of that field."""
        if more:
            return Path(name, *more, parent=self)
        return Path(name, parent=self)  # most have one step, and compiled code is four times as fast without unpacking

    def index(self, position: int) -> Path:
        """Return the path of an item of the list at this path."""
        return Path("", parent=self, subscript=str(position))

    def key(self, key: str) -> Path:
        """Return the path of a value of the map at this path."""
        return Path("", parent=self, subscript=key)

    def __str__(self) -> str:
        steps: list[str] = []
        path: Path | None = self
        while path is not None:
            if not path._name:
                steps.append(f"[{path._subscript}]")
            else:
                steps.append(path._name if path._parent is None else f".{path._name}")
            path = path._parent
        return "".join(reversed(steps))

    def __repr__(self) -> str:
        return f"Path({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Path) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


class ErrorType(StrEnum):
    """Type of a field error; the value is the ``reason`` of a Status cause."""

    NOT_FOUND = "FieldValueNotFound"
    REQUIRED = "FieldValueRequired"
    DUPLICATE = "FieldValueDuplicate"
    INVALID = "FieldValueInvalid"
    NOT_SUPPORTED = "FieldValueNotSupported"
    FORBIDDEN = "FieldValueForbidden"
    TOO_LONG = "FieldValueTooLong"
    TOO_MANY = "FieldValueTooMany"
    INTERNAL = "InternalError"
    TYPE_INVALID = "FieldValueTypeInvalid"


_HEADLINES: Final = {
    ErrorType.NOT_FOUND: "Not found",
    ErrorType.REQUIRED: "Required value",
    ErrorType.DUPLICATE: "Duplicate value",
    ErrorType.INVALID: "Invalid value",
    ErrorType.NOT_SUPPORTED: "Unsupported value",
    ErrorType.FORBIDDEN: "Forbidden",
    ErrorType.TOO_LONG: "Too long",
    ErrorType.TOO_MANY: "Too many",
    ErrorType.INTERNAL: "Internal error",
    ErrorType.TYPE_INVALID: "Invalid value",
}

#: Types whose message omits the value.
_WITHOUT_VALUE: Final = frozenset({ErrorType.REQUIRED, ErrorType.FORBIDDEN, ErrorType.TOO_LONG, ErrorType.INTERNAL})

#: As a value, omits the value from the message.
OMIT_VALUE: Final = object()


class FieldError:
    """Error of one value of an object. Not an exception: validation collects errors in lists.

    ``value`` is a JSON tree: messages quote strings, print numbers and booleans bare, and objects and lists as JSON
    with the tree's key order.
    """

    __slots__ = ("detail", "path", "type", "value")

    def __init__(self, type_: ErrorType, path: Path | str, *, value: Any = OMIT_VALUE, detail: str = "") -> None:
        self.type: Final = type_
        self.path: Final = path
        self.value: Final = value
        self.detail: Final = detail

    @property
    def field(self) -> str:
        """Text of the path."""
        return str(self.path)

    @property
    def body(self) -> str:
        """Message without the path, as in a Status cause."""
        text = _HEADLINES[self.type]
        if self.type not in _WITHOUT_VALUE and self.value is not OMIT_VALUE:
            text = f"{text}: {value_text(self.value)}"
        return f"{text}: {self.detail}" if self.detail else text

    def __str__(self) -> str:
        return f"{self.field}: {self.body}"

    def __repr__(self) -> str:
        return f"FieldError({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FieldError) and self.type == other.type and str(self) == str(other)

    def __hash__(self) -> int:
        return hash((self.type, str(self)))

    def cause(self) -> dict[str, str]:
        """Return the error as an entry of ``details.causes``."""
        return {"reason": self.type.value, "message": self.body, "field": self.field}


def value_text(value: Any) -> str:
    """Format a value for messages."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return float_text(value)
    return str(value) if isinstance(value, int) else to_json(value)


def aggregate(errors: Iterable[FieldError]) -> str:
    """Return the text of several errors, each once; empty without errors. Upstream: ``ErrorList.ToAggregate``."""
    texts = list(dict.fromkeys(map(str, errors)))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]" if texts else ""


def required(path: Path | str, detail: str = "") -> FieldError:
    """Return the error for a required value that is missing or empty."""
    return FieldError(ErrorType.REQUIRED, path, detail=detail)


def invalid(path: Path | str, value: Any, detail: str) -> FieldError:
    """Return the error for a value that violates a rule; ``detail`` states the rule."""
    return FieldError(ErrorType.INVALID, path, value=value, detail=detail)


def type_invalid(path: Path | str, value: Any, detail: str) -> FieldError:
    """Return the error for a value of another type than the schema's."""
    return FieldError(ErrorType.TYPE_INVALID, path, value=value, detail=detail)


def duplicate(path: Path | str, value: Any) -> FieldError:
    """Return the error for a value that must be unique."""
    return FieldError(ErrorType.DUPLICATE, path, value=value)


def not_supported(path: Path | str, value: Any, supported: Iterable[str] = ()) -> FieldError:
    """Return the error for an unknown enum value; supported values are listed in the given order."""
    listed = ", ".join(map(quote, supported))
    return FieldError(
        ErrorType.NOT_SUPPORTED, path, value=value, detail=f"supported values: {listed}" if listed else ""
    )


def forbidden(path: Path | str, detail: str) -> FieldError:
    """Return the error for a value that must not be set."""
    return FieldError(ErrorType.FORBIDDEN, path, detail=detail)


def not_found(path: Path | str, value: Any, detail: str = "") -> FieldError:
    """Return the error for a reference to an object that does not exist."""
    return FieldError(ErrorType.NOT_FOUND, path, value=value, detail=detail)


def too_long(path: Path | str, *, max_bytes: int) -> FieldError:
    """Return the error for a string of more than ``max_bytes``; a negative limit is not printed."""
    if max_bytes < 0:
        return FieldError(ErrorType.TOO_LONG, path, detail="value is too long")
    unit = "byte" if max_bytes == 1 else "bytes"
    return FieldError(ErrorType.TOO_LONG, path, detail=f"may not be more than {max_bytes} {unit}")


def too_many(path: Path | str, count: int, *, max_items: int) -> FieldError:
    """Return the error for a list or map of more than ``max_items`` entries; negative numbers are not printed."""
    if max_items < 0:
        detail = "has too many items"
    else:
        detail = f"must have at most {max_items} item{'' if max_items == 1 else 's'}"
    return FieldError(ErrorType.TOO_MANY, path, value=count if count >= 0 else OMIT_VALUE, detail=detail)


def internal(path: Path | str, detail: str) -> FieldError:
    """Return the error for a validation that could not be carried out."""
    return FieldError(ErrorType.INTERNAL, path, detail=detail)


def join_messages(messages: Iterable[str]) -> str:
    """Join messages: each text once, in brackets if more than one remains. Upstream: ``Aggregate.Error``."""
    unique = list(dict.fromkeys(messages))
    return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]" if unique else ""
