"""Random parts of new objects: UIDs and the suffixes of generated names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.names import generate_name

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

#: As upstream's ``maxNameGenerationCreateAttempts``.
NAME_ATTEMPTS_MAX: Final = 8

#: Number of uids whose digits are drawn at once, which is cheaper.
_BLOCK_UIDS: Final = 64
_UID_BYTES: Final = 16
_UID_DIGITS: Final = 2 * _UID_BYTES
#: Two bits of this digit are the variant (RFC 9562), the others are random.
_VARIANTS: Final = {digit: "89ab"[int(digit, 16) % 4] for digit in "0123456789abcdef"}


class Identities:
    """Draws from ``dice``, so that a test can have the same objects every time."""

    __slots__ = ("_at", "_dice", "_digits")

    def __init__(self, dice: Random) -> None:
        self._dice: Final = dice
        #: Random digits, used up to ``_at``.
        self._digits = ""
        self._at = 0

    def draw_again(self) -> None:
        """Drop the digits that were drawn in advance, in a forked process whose dice differ from those of others."""
        self._digits, self._at = "", 0

    def uid(self) -> str:
        """Return a random UUID (RFC 9562, version 4)."""
        if self._at == len(self._digits):
            self._digits = self._dice.randbytes(_BLOCK_UIDS * _UID_BYTES).hex()
            self._at = 0
        digits = self._digits[self._at : self._at + _UID_DIGITS]
        self._at += _UID_DIGITS
        variant = _VARIANTS[digits[16]]
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"

    def name(self, prefix: str, *, taken: Callable[[str], bool]) -> str:
        """Return a name with ``prefix`` that is not taken, unless all attempts yield taken ones."""
        name = generate_name(prefix, self._dice)
        for _ in range(NAME_ATTEMPTS_MAX - 1):
            if not taken(name):
                break
            name = generate_name(prefix, self._dice)
        return name
