"""Bodies to trees and back: strict JSON.

Trees hold ``None``, ``bool``, ``int``, ``float``, ``str``, ``list`` and ``dict``; ``2.0`` stays a float.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.apimachinery import json_syntax
from steersman.apimachinery.gotext import quote
from steersman.apimachinery.json_values import NumberText, Pairs
from steersman.apimachinery.workmeter import spend_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

#: Objects nest far less; walkers of trees may recurse a few frames for each level and stay within Python's limit.
MAX_DEPTH: Final = 200

#: Errors of strict decoding that are reported of one text.
STRICT_ERRORS_MAX: Final = 100

_decode_fast: Final = msgspec.json.Decoder().decode
_encode_fast: Final = msgspec.json.Encoder().encode

#: Up to this size a malformed body is read once more to say what is wrong, at some 2 MB a second.
_EXPLAINED_BYTES: Final = 256 * 1024

_CONTAINERS: Final = (dict, list)


class DecodeError(ValueError):
    """A body is no acceptable JSON or YAML; the message says why, in the words clients know."""


def decode_json(raw: bytes) -> Any:
    """A JSON text as a tree. Of a key given twice the last value counts: see ``duplicate_fields``.

    Raises ``DecodeError`` for what is no JSON, nests deeper than ``MAX_DEPTH``, is no UTF-8 or holds a number that
    no 64-bit float can hold.
    """
    try:
        tree = _decode_fast(raw)
    except RecursionError:
        raise DecodeError("exceeded max depth") from None
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _decode_slowly(raw, float_from=_float)
    spend_bytes(len(raw))
    check_depth(tree, raw)
    return tree


def check_depth(tree: Any, raw: bytes) -> None:
    """Raises ``DecodeError`` for a tree deeper than ``MAX_DEPTH``; free when ``raw`` is short or has few brackets."""
    if len(raw) <= MAX_DEPTH or raw.count(b"{") + raw.count(b"[") <= MAX_DEPTH:
        return
    if depth_of(tree) > MAX_DEPTH:
        raise DecodeError("exceeded max depth")


def decode_json_exactly(raw: bytes) -> Any:
    """As ``decode_json``, but fractions and exponents come as ``NumberText``: messages tell numbers as written."""
    return _decode_slowly(raw, float_from=_number_text)


def _decode_slowly(raw: bytes, *, float_from: Callable[[str], Any]) -> Any:
    """For what the fast decoder refuses: tells the fault, or reads what it will not (half surrogates)."""
    try:
        tree = json.loads(
            raw.decode(),
            parse_float=float_from,
            parse_int=_int,
            parse_constant=_no_constant,
            object_pairs_hook=_whole_object,
        )
    except UnicodeDecodeError as error:
        raise DecodeError(_fault(raw) or f"invalid UTF-8 at byte {error.start}") from None
    except RecursionError:
        raise DecodeError("exceeded max depth") from None
    except json.JSONDecodeError as fault:
        raise DecodeError(_fault(raw) or f"malformed JSON at character {fault.pos}") from None
    check_depth(tree, raw)
    return _whole_value(tree)


def _fault(raw: bytes) -> str | None:
    """The fault of the text's grammar; ``None`` where there is none, or looking for it would take too long."""
    return json_syntax.explain(raw) if len(raw) <= _EXPLAINED_BYTES else None


def _no_constant(name: str) -> Any:
    """``NaN`` and ``Infinity``, which Python would read."""
    raise json.JSONDecodeError(f"{name} is no JSON", name, 0)


def _float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise _out_of_range(text)
    return number


def _number_text(text: str) -> NumberText:
    _float(text)
    return NumberText(text)


def _int(text: str) -> int:
    if len(text) > 4300:  # Python's own limit: the time of a conversion grows with the square
        raise _out_of_range(text)
    return int(text)


def _out_of_range(text: str) -> DecodeError:
    return DecodeError(f"json: cannot unmarshal number {text} into Go value of type float64")


def _whole_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {_whole_text(key): _whole_value(value) for key, value in pairs}


def _whole_value(value: Any) -> Any:
    """Texts directly in it, with half surrogates replaced; objects below were made whole before."""
    if isinstance(value, str):
        return _whole_text(value)
    return [_whole_value(item) for item in value] if isinstance(value, list) else value


def _whole_text(text: str) -> str:
    """Half surrogates become U+FFFD, as in Go."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def depth_of(tree: Any) -> int:
    """How deep a tree nests; a scalar not at all."""
    depth = 0
    level: list[Any] = [tree] if tree.__class__ in _CONTAINERS else []
    while level:
        depth += 1
        below: list[Any] = []
        for node in level:
            values = node.values() if node.__class__ is dict else node
            below += [value for value in values if value.__class__ in _CONTAINERS]
        level = below
    return depth


#: A colon, where it is not written as it is.
_HIDDEN_COLONS: Final = (rb"\u003a", rb"\u003A")
_BACKSLASH: Final = ord("\\")


def duplicate_fields(raw: bytes, tree: Any) -> list[str]:
    """Paths (``data.a``, ``spec.containers[0].name``) of keys given more than once in JSON text that ``tree`` came from.

    A colon follows each key. As many of them in the text as in the tree written anew mean that no key was lost with its
    value, and the text need not be read again.
    """
    if not may_hide_keys(raw, tree):
        return []
    found: dict[str, bool] = {}
    _collect_strict(json.loads(raw.decode(), object_pairs_hook=Pairs), "", frozenset(), found)
    return list(found)


def may_hide_keys(raw: bytes, tree: Any) -> bool:
    """Whether ``duplicate_fields`` has to read the text again. Nearly always the answer is no, and quickly given."""
    if raw.count(b":") != encode(tree).count(b":"):
        return True
    # a number is found much quicker than bytes, and most JSON has no backslash
    return _BACKSLASH in raw and any(colon in raw for colon in _HIDDEN_COLONS)


def _collect_strict(node: Any, path: str, unknown: Collection[str], found: dict[str, bool]) -> None:
    """Add to ``found``, in the order of the text, the paths of unknown (True) and duplicate (False) keys.

    Unknown fields are skipped with everything in them, as Go's decoder skips what it has no place for.
    """
    if isinstance(node, Pairs):
        seen: set[str] = set()
        for key, value in node:
            below = f"{path}.{key}" if path else key
            if below in unknown:
                found[below] = True
                continue
            if key in seen:
                found.setdefault(below, False)
            seen.add(key)
            _collect_strict(value, below, unknown, found)
    elif isinstance(node, list):
        for position, item in enumerate(node):
            _collect_strict(item, f"{path}[{position}]", unknown, found)


def strict_field_messages(raw: bytes, unknown: Collection[str]) -> list[str]:
    """Return what strict decoding says of JSON text with duplicate keys and ``unknown`` fields, in document order.

    At most 100 messages, each once. Upstream: ``saveStrictError`` of ``sigs.k8s.io/json``.
    """
    found: dict[str, bool] = {}
    _collect_strict(json.loads(raw.decode(), object_pairs_hook=Pairs), "", frozenset(unknown), found)
    messages = [f"{'unknown' if is_unknown else 'duplicate'} field {quote(path)}" for path, is_unknown in found.items()]
    return messages[:STRICT_ERRORS_MAX]


def duplicate_field_messages(raw: bytes, tree: Any) -> list[str]:
    """As warnings and strict errors tell them: ``duplicate field "data.a"``."""
    return [f"duplicate field {quote(path)}" for path in duplicate_fields(raw, tree)]


def encode(tree: Any) -> bytes:
    """A tree as compact JSON, keys in the tree's order."""
    try:
        return _encode_fast(tree)
    except (OverflowError, UnicodeEncodeError):  # integers beyond 64 bits
        return json.dumps(tree, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")


def encode_pretty(tree: Any) -> bytes:
    """A tree as JSON for reading: two spaces for each level."""
    return msgspec.json.format(encode(tree), indent=2)


def prettify(raw: bytes) -> bytes:
    """JSON text for reading."""
    return msgspec.json.format(raw, indent=2)
