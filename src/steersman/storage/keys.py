"""Key ranges: end of a prefix, ancestors of a key, squashed prefixes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LAST = "\U0010ffff"
#: Surrogate code points, which UTF-8 cannot encode.
_SURROGATES_FIRST, _SURROGATES_END = 0xD800, 0xE000


def prefix_end(prefix: str) -> str:
    """Return the first key after all keys with ``prefix``; empty if absent.

    The byte order of UTF-8 equals the order of code points, so Python's string comparison applies. Upstream:
    ``clientv3.GetPrefixRangeEnd``.
    """
    stem = prefix.rstrip(_LAST)
    if not stem:
        return ""
    following = ord(stem[-1]) + 1
    if following == _SURROGATES_FIRST:
        following = _SURROGATES_END
    return stem[:-1] + chr(following)


def ancestors(key: str) -> Iterator[str]:
    """Return the prefixes of ``key`` that end in ``/``, shortest first: the prefixes that a watch may use."""
    end = key.find("/")
    while end >= 0:
        yield key[: end + 1]
        end = key.find("/", end + 1)


def overlap(first: str, second: str) -> bool:
    """Report whether a key can start with both prefixes."""
    return first.startswith(second) or second.startswith(first)


class SquashedPrefixes:
    """Prefixes whose overwrites leave no history, each with the revision of its last overwrite."""

    def __init__(self, prefixes: Iterable[str], *, compacted: int = 0) -> None:
        self.prefixes = tuple(prefixes)
        for prefix in self.prefixes:
            if not prefix.endswith("/"):
                raise ValueError(f"squashed prefix {prefix!r} must end in '/'")
        self._compacted = dict.fromkeys(self.prefixes, compacted)

    def matches(self, key: str) -> bool:
        return key.startswith(self.prefixes)

    def overwritten(self, key: str, revision: int) -> None:
        """Record that the value of ``key`` before ``revision`` is lost."""
        for prefix in self.prefixes:
            if key.startswith(prefix):
                self._compacted[prefix] = revision

    def compact_revision(self, prefix: str) -> int:
        """Return the oldest revision at which all keys under ``prefix`` are readable, considering squashing only."""
        return max((at for other, at in self._compacted.items() if overlap(prefix, other)), default=0)
