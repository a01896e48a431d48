"""Decoding of large JSON texts part by part, so that no call holds the interpreter lock for long.

A text is cut at commas between members. Each part is decoded on its own: with openers before it for the containers that are
open where it begins, and closers behind it. A part's members are then added to those containers::

    {"a":1,"b":[2,       decoded as  {"a":1,"b":[2,END]}
    3,4],"c":{"d":5,     decoded as  {START:[3,4],"c":{"d":5,END:0}}, and so on

``START`` and ``END`` are keys and items that the text cannot contain, as they are made of its digest.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.apimachinery.workmeter import spend_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: Larger texts are decoded part by part: one call takes 10 to 25 ms for a megabyte of small values.
PARTS_BYTES: Final = 256 * 1024
_PART_BYTES: Final = 192 * 1024

_decode: Final = msgspec.json.Decoder().decode
#: Checks syntax only, at a gigabyte a second.
_check: Final = msgspec.json.Decoder(msgspec.Raw).decode

_BRACKETS: Final = b"{}[]"
_NO_BRACKETS: Final = bytes(byte for byte in range(256) if byte not in _BRACKETS)
_CLOSERS: Final = bytes.maketrans(b"{[", b"}]")
_OBJECT: Final = ord("{")


def decode_in_parts(raw: bytes, *, part_bytes: int = _PART_BYTES) -> Any:
    """Decode as one call of the decoder does; parts have ``part_bytes`` or, without a comma in them, a multiple.

    Raises ``msgspec.DecodeError``, ``UnicodeDecodeError`` and ``RecursionError``.
    """
    _check(raw)
    marker = blake2b(raw, digest_size=16).hexdigest().encode()
    start_key, end_key = marker.decode() + "<", marker.decode() + ">"
    tree: Any = None
    kinds, containers = b"", list[Any]()
    start = 0
    while True:
        text = _part_at(raw, start, part_bytes)
        is_last = start + len(text) == len(raw)
        closed, opened = _brackets(text)
        continued = len(kinds) - closed
        kinds_below = kinds[:continued] + opened
        part = _decode(_openers(kinds, marker) + text + (b"" if is_last else _end(kinds_below, marker)))
        spend_bytes(len(text))
        path = [] if is_last else _path(part, kinds_below, end_key)
        if start == 0:
            tree = part
        _add(containers, part, start_key)
        if is_last:
            return tree
        kinds, containers = kinds_below, containers[:continued] + path[continued:]
        start += len(text) + 1


def _part_at(raw: bytes, start: int, size: int) -> bytes:
    """Return the text from ``start`` to the last comma between members in the next part, or to the end."""
    while start + size < len(raw):
        text = raw[start : start + size]
        plain = _without_escapes(text)
        end = plain.rfind(b",")
        while end > 0 and plain.count(b'"', 0, end) % 2:  # in a string: look before it
            end = plain.rfind(b",", 0, plain.rindex(b'"', 0, end))
        if end > 0:
            return text[:end]
        size *= 2
    return raw[start:]


def _without_escapes(text: bytes) -> bytes:
    """Replace escaped quotes and backslashes; positions stay."""
    return text.replace(rb"\\", b"__").replace(rb"\"", b"__") if b"\\" in text else text


def _brackets(text: bytes) -> tuple[int, bytes]:
    """Return how many open containers a part closes, and the openers of those that it leaves open."""
    outside_strings = b"".join(_without_escapes(text).split(b'"')[::2])
    brackets = outside_strings.translate(None, _NO_BRACKETS)
    size = -1
    while size != len(brackets):
        size = len(brackets)
        brackets = brackets.replace(b"{}", b"").replace(b"[]", b"")
    opened = brackets.lstrip(b"}]")
    return size - len(opened), opened


def _openers(kinds: bytes, marker: bytes) -> bytes:
    """Return the text before a part: a member that is open is the first one of its container."""
    key = b'"%b<":' % marker
    levels = [b"%c%b" % (kind, key if kind == _OBJECT else b"") for kind in kinds[:-1]]
    return b"".join(levels) + kinds[-1:]


def _end(kinds: bytes, marker: bytes) -> bytes:
    """Return the text behind a part: a last member of the innermost container, and the ends of all."""
    value = b":0" if kinds[-1] == _OBJECT else b""
    return b',"%b>"%b%b' % (marker, value, kinds[::-1].translate(_CLOSERS))


def _path(part: Any, kinds: Sequence[int], end_key: str) -> list[Any]:
    """Return the open containers of a part, outermost first, and remove the last member of the innermost one."""
    path = _search(part, kinds, 0, end_key)
    innermost = path[-1]
    if innermost.__class__ is dict:
        del innermost[end_key]
    else:
        innermost.pop()
    return path


def _search(node: Any, kinds: Sequence[int], depth: int, end_key: str) -> list[Any]:
    """Return the containers down to the one with the ``end_key``; empty if it is not below ``node``.

    It is below the last member, unless the last key occurs twice in an object.
    """
    is_innermost = depth == len(kinds) - 1
    below: Iterable[Any]
    if kinds[depth] == _OBJECT:
        if node.__class__ is not dict:
            return []
        has_end, below = end_key in node, reversed(node.values())
    else:
        if node.__class__ is not list or not node:
            return []
        has_end, below = node[-1] == end_key, node[-1:]
    if is_innermost:
        return [node] if has_end else []
    for value in below:
        path = _search(value, kinds, depth + 1, end_key)
        if path:
            return [node, *path]
    return []


def _add(containers: list[Any], part: Any, start_key: str) -> None:
    """Add the members of a part to the containers that were open at its beginning."""
    for depth, container in enumerate(containers):
        is_innermost = depth == len(containers) - 1
        if container.__class__ is dict:
            below = None if is_innermost else part.pop(start_key)
            container.update(part)
        else:
            below = None if is_innermost else part.pop(0)
            container.extend(part)
        part = below
