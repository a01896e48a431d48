"""Strict JSON: decoding bodies to trees, and encoding.

Trees hold ``None``, ``bool``, ``int``, ``float``, ``str``, ``list`` and ``dict``; ``2.0`` stays a float.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.apimachinery import json_syntax
from steersman.apimachinery.gotext import quote
from steersman.apimachinery.json_parts import PARTS_BYTES, decode_in_parts
from steersman.apimachinery.json_values import NumberText, Pairs
from steersman.apimachinery.workmeter import charged, spend_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

#: Objects nest far less; recursive walkers may use a few frames for each level within Python's limit.
MAX_DEPTH: Final = 200

_decode_fast: Final = msgspec.json.Decoder().decode
_encode_fast: Final = msgspec.json.Encoder().encode

#: Up to this size a malformed body is scanned again to report the error, at about 2 MB a second.
_EXPLAINED_BYTES: Final = 256 * 1024

_UNITS_PER_KEY: Final = 2
_CONTAINERS: Final = (dict, list)


class DecodeError(ValueError):
    """Error for a body that is not acceptable JSON or YAML; the message is upstream's."""


def decode_json(raw: bytes) -> Any:
    """Decode a JSON text. The last value of a duplicate key wins: see ``duplicate_fields``.

    Raises ``DecodeError`` for malformed JSON, nesting beyond ``MAX_DEPTH``, invalid UTF-8 and numbers outside the
    range of a float64.
    """
    try:
        if len(raw) < PARTS_BYTES:
            tree = _decode_fast(raw)
            spend_bytes(len(raw))
        else:
            tree = decode_in_parts(raw)
    except RecursionError:
        raise DecodeError("exceeded max depth") from None
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _decode_slowly(raw, float_from=_float)
    check_depth(tree, raw)
    return tree


def check_depth(tree: Any, raw: bytes) -> None:
    """Raise ``DecodeError`` if the tree is deeper than ``MAX_DEPTH``; free if ``raw`` is short or has few brackets."""
    if len(raw) <= MAX_DEPTH or raw.count(b"{") + raw.count(b"[") <= MAX_DEPTH:
        return
    if depth_of(tree) > MAX_DEPTH:
        raise DecodeError("exceeded max depth")


def decode_json_exactly(raw: bytes) -> Any:
    """Decode as ``decode_json``, with fractions and exponents as ``NumberText``.

    Messages then print numbers as written.
    """
    return _decode_slowly(raw, float_from=_number_text)


def _decode_slowly(raw: bytes, *, float_from: Callable[[str], Any]) -> Any:
    """Decode what the fast decoder rejects: report the error, or accept half surrogates."""
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
    """Return the syntax error of the text; ``None`` if there is none or the text is too long to search."""
    return json_syntax.explain(raw) if len(raw) <= _EXPLAINED_BYTES else None


def _no_constant(name: str) -> Any:
    """Reject ``NaN`` and ``Infinity``, which Python's decoder accepts."""
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
    return {_whole_text(key): _whole_value(value) for key, value in charged(pairs, _UNITS_PER_KEY)}


def _whole_value(value: Any) -> Any:
    """Replace half surrogates in the strings directly in ``value``; nested objects are already repaired."""
    if isinstance(value, str):
        return _whole_text(value)
    return [_whole_value(item) for item in value] if isinstance(value, list) else value


def _whole_text(text: str) -> str:
    """Replace half surrogates with U+FFFD, as in Go."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def depth_of(tree: Any) -> int:
    """Return the nesting depth of a tree; 0 for a scalar."""
    depth = 0
    level: list[Any] = [tree] if tree.__class__ in _CONTAINERS else []
    while level:
        depth += 1
        below: list[Any] = []
        for node in charged(level, _UNITS_PER_KEY):
            values = node.values() if node.__class__ is dict else node
            below += [value for value in values if value.__class__ in _CONTAINERS]
        level = below
    return depth


#: A colon in its escaped form.
_HIDDEN_COLONS: Final = (rb"\u003a", rb"\u003A")
_BACKSLASH: Final = ord("\\")


def duplicate_fields(raw: bytes, tree: Any) -> list[str]:
    """Return the paths (``data.a``, ``spec.containers[0].name``) of duplicate keys in the JSON text of ``tree``.

    Each key is followed by a colon. If the text has as many colons as the encoded tree, no key was dropped as a
    duplicate, and the text is not read again.
    """
    if not may_hide_keys(raw, tree):
        return []
    paths: dict[str, None] = {}
    _collect_duplicates(json.loads(raw.decode(), object_pairs_hook=Pairs), "", paths)
    return list(paths)


def may_hide_keys(raw: bytes, tree: Any) -> bool:
    """Report whether ``duplicate_fields`` must read the text again. Fast, and nearly always False."""
    if raw.count(b":") != encode(tree).count(b":"):
        return True
    # searching a number is much faster than searching bytes, and most JSON has no backslash
    return _BACKSLASH in raw and any(colon in raw for colon in _HIDDEN_COLONS)


def _collect_duplicates(node: Any, path: str, paths: dict[str, None]) -> None:
    if isinstance(node, Pairs):
        seen: set[str] = set()
        for key, value in charged(node, _UNITS_PER_KEY):
            below = f"{path}.{key}" if path else key
            if key in seen:
                paths[below] = None
            seen.add(key)
            _collect_duplicates(value, below, paths)
    elif isinstance(node, list):
        for position, item in enumerate(charged(node, _UNITS_PER_KEY)):
            _collect_duplicates(item, f"{path}[{position}]", paths)


def duplicate_field_messages(raw: bytes, tree: Any) -> list[str]:
    """Return the messages of warnings and strict errors: ``duplicate field "data.a"``."""
    return [f"duplicate field {quote(path)}" for path in duplicate_fields(raw, tree)]


def encode(tree: Any) -> bytes:
    """Encode a tree as compact JSON; keys keep the tree's order."""
    try:
        return _encode_fast(tree)
    except (OverflowError, UnicodeEncodeError):  # integers beyond 64 bits
        return json.dumps(tree, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")


def prettify(raw: bytes) -> bytes:
    """Indent JSON text."""
    return msgspec.json.format(raw, indent=2)
