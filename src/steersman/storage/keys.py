"""Arithmetic on keys: ranges of a prefix, the prefixes of a key."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LAST = "\U0010ffff"
#: Code points that UTF-8 cannot carry; the next one after them.
_SURROGATES_FIRST, _SURROGATES_END = 0xD800, 0xE000


def prefix_end(prefix: str) -> str:
    """The first key after all keys that start with ``prefix``; empty when there is none.

    Byte order of UTF-8 is the order of code points, so Python's comparison of strings serves.
    """
    stem = prefix.rstrip(_LAST)
    if not stem:
        return ""
    following = ord(stem[-1]) + 1
    if following == _SURROGATES_FIRST:
        following = _SURROGATES_END
    return stem[:-1] + chr(following)


def ancestors(key: str) -> Iterator[str]:
    """The prefixes of ``key`` that end in ``/``, shortest first: what a watch on it may be registered under."""
    end = key.find("/")
    while end >= 0:
        yield key[: end + 1]
        end = key.find("/", end + 1)


def overlap(first: str, second: str) -> bool:
    """Whether some key can start with both prefixes."""
    return first.startswith(second) or second.startswith(first)


class SquashedPrefixes:
    """The prefixes whose overwrites leave no history, each with the revision of its last overwrite."""

    def __init__(self, prefixes: Iterable[str], *, compacted: int = 0) -> None:
        self.prefixes = tuple(prefixes)
        for prefix in self.prefixes:
            if not prefix.endswith("/"):
                raise ValueError(f"squashed prefix {prefix!r} must end in '/'")
        self._compacted = dict.fromkeys(self.prefixes, compacted)

    def matches(self, key: str) -> bool:
        return key.startswith(self.prefixes)

    def overwritten(self, key: str, revision: int) -> None:
        """Note that the value of ``key`` before ``revision`` is gone."""
        for prefix in self.prefixes:
            if key.startswith(prefix):
                self._compacted[prefix] = revision

    def compact_revision(self, prefix: str) -> int:
        """The oldest revision at which all keys under ``prefix`` can still be read, as far as squashing goes."""
        return max((at for other, at in self._compacted.items() if overlap(prefix, other)), default=0)
