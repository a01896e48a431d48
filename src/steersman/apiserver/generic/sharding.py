"""``shardSelector``: a part of a collection, selected by a hash (KEP-5866).

``shardRange(object.metadata.uid, '0x0', '0x8000000000000000')``, several of them joined with ``||``. An object belongs
to a range when the 64-bit FNV-1a hash of the field lies in it, the end excluded.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apimachinery.errors import bad_request
from steersman.apimachinery.gotext import quote

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.apiserver.generic.entry import Entry

_RANGE: Final = re.compile(
    r"\s*shardRange\(\s*object\.metadata\.(uid|namespace)\s*,\s*'(0x[0-9a-fA-F]{1,17})'\s*,\s*'(0x[0-9a-fA-F]{1,17})'\s*\)\s*"
)
_HASHES: Final = 1 << 64
_OFFSET: Final = 0xCBF29CE484222325
_PRIME: Final = 0x100000001B3
#: Bound of an expression.
_TEXT_MAX: Final = 4096


class _Identity(msgspec.Struct, gc=False):
    uid: str = ""
    namespace: str = ""


class _Identified(msgspec.Struct, gc=False):
    metadata: _Identity


_decode: Final = msgspec.json.Decoder(_Identified).decode


def parse_shard_selector(text: str) -> Callable[[Entry], bool]:
    """Return the test that a selector describes. Raises 400 when it is none."""
    ranges: list[tuple[str, int, int]] = []
    for term in text[: _TEXT_MAX + 1].split("||"):
        match = _RANGE.fullmatch(term)
        if match is None or len(text) > _TEXT_MAX:
            raise _invalid(text, "must be shardRange(object.metadata.uid, '0x…', '0x…'), several joined with ||")
        start, end = int(match[2], 16), int(match[3], 16)
        if not start < end <= _HASHES:
            raise _invalid(text, "a range must begin before its end, and end at 0x10000000000000000 or before")
        ranges.append((match[1], start, end))
    if len({field for field, _, _ in ranges}) > 1:
        raise _invalid(text, "all ranges must be of the same field")
    of_uid = ranges[0][0] == "uid"

    def test(entry: Entry) -> bool:
        identity = _decode(entry.raw).metadata
        value = fnv1a(identity.uid if of_uid else identity.namespace)
        return any(start <= value < end for _, start, end in ranges)

    return test


def fnv1a(text: str) -> int:
    """Return the 64-bit FNV-1a hash of a text in UTF-8."""
    value = _OFFSET
    for byte in text.encode():
        value = (value ^ byte) * _PRIME % _HASHES
    return value


def _invalid(text: str, reason: str) -> Exception:
    return bad_request(f"invalid shardSelector {quote(text)}: {reason}")
