"""Structured fuzzing inputs: decisions, JSON values and typed objects drawn from a byte string.

Every byte string is an input; drawing beyond its end returns the first alternative, so that every input is finite. The same
bytes always give the same decisions, and a changed byte changes few of them: mutations of a coverage-guided fuzzer stay close.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from steersman.apimachinery.codec import DecodeError, decode_json
from steersman.apimachinery.typemodel import ListOf, MapOf, Scalar, ScalarKind, Struct, Type

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")

KEYS = ("a", "b", "name", "key", "type", "items", "$patch", "$retainKeys", "$setElementOrder/a", "$deleteFromPrimitiveList/a",
        "metadata", "spec", "", "x.y/z", "ä", "default")  # fmt: skip
TEXTS = ("a", "b", "c", "", "replace", "delete", "merge", "1", "Always", "TCP", "100m", "1Gi", "25%", "10.0.0.1", "a.b/c",
         "2024-05-06T07:08:09Z", "YQ==", "ä\u2028", "\x00", "null", "9" * 20, "1e400")  # fmt: skip
NUMBERS = (
    0,
    1,
    -1,
    2,
    80,
    65536,
    2**31 - 1,
    2**31,
    2**63 - 1,
    2**63,
    -(2**63) - 1,
    10**30,
    0.0,
    -0.0,
    1.5,
    1e21,
    1e308,
    5e-324,
)


class Choices:
    """Decisions drawn from bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def is_empty(self) -> bool:
        """True if all bytes are used."""
        return self._at >= len(self._data)

    def byte(self) -> int:
        """Return the next byte, 0 after the last."""
        if self.is_empty:
            return 0
        value = self._data[self._at]
        self._at += 1
        return value

    def below(self, bound: int) -> int:
        """Return a number from 0 to ``bound`` - 1 (``bound`` is at most 65536)."""
        return self.byte() % bound if bound <= 256 else (self.byte() << 8 | self.byte()) % bound

    def one_in(self, count: int) -> bool:
        """Return True for one of ``count`` values, never after the last byte."""
        return self.byte() % count == count - 1

    def pick(self, values: Sequence[T]) -> T:
        """Return one of the values."""
        return values[self.below(len(values))]

    def bytes(self, size: int) -> bytes:
        """Return up to ``size`` bytes of the input itself."""
        piece = self._data[self._at : self._at + size]
        self._at += len(piece)
        return piece

    def rest(self) -> bytes:
        """Return all bytes that are left."""
        return self.bytes(len(self._data))

    def text(self) -> str:
        """Return a text: mostly a known one, sometimes any."""
        return self.bytes(self.below(12)).decode("utf-8", "replace") if self.one_in(8) else self.pick(TEXTS)

    def scalar(self) -> Any:
        """Return a JSON scalar."""
        kind = self.below(6)
        if kind < 2:
            return self.text()
        return (None, True, False, self.pick(NUMBERS))[kind - 2]

    def tree(self, depth: int = 4) -> Any:
        """Return a JSON value that nests at most ``depth`` levels."""
        kind = self.below(4) if depth else 0
        if kind == 2:
            return self.object(depth)
        if kind == 3:
            return [self.tree(depth - 1) for _ in range(self.below(5))]
        return self.scalar()

    def object(self, depth: int = 4) -> dict[str, Any]:
        """Return a JSON object."""
        return {self.pick(KEYS): self.tree(depth - 1) for _ in range(self.below(5))}

    def typed(self, type_: Type, depth: int = 6) -> Any:
        """Return a value that mostly fits a type: one in sixteen is any value, at ``depth`` 0 all are null."""
        if depth == 0:
            return None
        if self.one_in(16):
            return self.tree(2)
        if isinstance(type_, Struct):
            return self._struct(type_, depth)
        if isinstance(type_, ListOf):
            return [self.typed(type_.item, depth - 1) for _ in range(self.below(4))]
        if isinstance(type_, MapOf):
            return {self.pick(KEYS): self.typed(type_.value, depth - 1) for _ in range(self.below(4))}
        return self._leaf(type_)

    def _struct(self, struct: Struct, depth: int) -> dict[str, Any]:
        names = list(struct.fields)
        tree: dict[str, Any] = {}
        for _ in range(min(self.below(6), len(names))):
            name = self.pick(names)
            tree[name] = self.typed(struct.fields[name].type, depth - 1)
        if self.one_in(16):
            tree[self.pick(KEYS)] = self.tree(2)
        return tree

    def _leaf(self, type_: Scalar) -> Any:
        if type_.enum and not self.one_in(8):
            return self.pick(type_.enum)
        draw = _LEAVES.get(type_.kind)
        return self.text() if draw is None else draw(self)


_LEAVES: dict[ScalarKind, Callable[[Choices], Any]] = {
    ScalarKind.INT32: lambda choices: choices.pick(NUMBERS[:7]),
    ScalarKind.INT64: lambda choices: choices.pick(NUMBERS[:9]),
    ScalarKind.NUMBER: lambda choices: choices.pick(NUMBERS),
    ScalarKind.BOOLEAN: lambda choices: choices.one_in(2),
    ScalarKind.BYTES: lambda choices: choices.pick(("", "YQ==", "YWI=", "YR==", "Y\nQ==", "-_", "ä")),
    ScalarKind.TIME: lambda choices: choices.pick(TIMES),
    ScalarKind.MICRO_TIME: lambda choices: choices.pick(TIMES),
    ScalarKind.DURATION: lambda choices: choices.pick(("1s", "1h2m", "-1.5us", "1", "")),
    ScalarKind.QUANTITY: lambda choices: choices.pick(
        ("100m", "1Gi", 1, 1.5, "1e3", "-0", "1n", "9" * 30, "1E400", "x")
    ),
    ScalarKind.INT_OR_STRING: lambda choices: choices.pick((1, "25%", "http", 2**31, "")),
    ScalarKind.ANY: lambda choices: choices.tree(3),
    ScalarKind.RAW: lambda choices: choices.object(3),
    ScalarKind.SCHEMA_OR_BOOL: lambda choices: choices.tree(3),
    ScalarKind.SCHEMA_OR_ARRAY: lambda choices: choices.tree(3),
    ScalarKind.SCHEMA_OR_STRINGS: lambda choices: choices.tree(3),
}
TIMES = ("2024-05-06T07:08:09Z", "2024-05-06T07:08:09.123456789+01:00", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59", "",
         "2024-02-30T00:00:00Z", "2024-05-06T24:00:00Z")  # fmt: skip


def json_case(data: bytes, count: int, draw: Callable[[Choices], tuple[Any, ...]]) -> tuple[Any, ...]:
    """Return the ``count`` values of a case: those of a JSON list in ``data``, else drawn from its bytes.

    A corpus file may so be written by hand.
    """
    if data.startswith(b"["):
        try:
            values = decode_json(data)
        except DecodeError:
            values = None
        if isinstance(values, list) and len(values) == count:
            return tuple(values)
    return draw(Choices(data))
