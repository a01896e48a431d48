"""What the server makes up for new objects: uids and the ends of generated names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.names import generate_name

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

#: As upstream's ``maxNameGenerationCreateAttempts``.
NAME_ATTEMPTS_MAX: Final = 8

_VERSION_MASK: Final = ~((0xF << 76) | (0x3 << 62))
_VERSION_BITS: Final = (0x4 << 76) | (0x2 << 62)


class Identities:
    """Draws from ``dice``, so that a test can have the same objects every time."""

    __slots__ = ("_dice",)

    def __init__(self, dice: Random) -> None:
        self._dice: Final = dice

    def uid(self) -> str:
        """A random UUID (RFC 9562, version 4)."""
        digits = (self._dice.getrandbits(128) & _VERSION_MASK | _VERSION_BITS).to_bytes(16).hex()
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

    def name(self, prefix: str, *, taken: Callable[[str], bool]) -> str:
        """A name that begins with ``prefix``; one that is not taken, unless all of the attempts meet taken ones."""
        name = generate_name(prefix, self._dice)
        for _ in range(NAME_ATTEMPTS_MAX - 1):
            if not taken(name):
                break
            name = generate_name(prefix, self._dice)
        return name
