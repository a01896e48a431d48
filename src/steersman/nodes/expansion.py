"""``$(NAME)`` in commands, arguments and variables: replaced where the name is known; ``$$`` is one dollar.

As ``Container.command`` of the API reference says it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_REFERENCE: Final = re.compile(r"\$(?:\$|\(([^)]*)\))")


def expand(text: str, variables: Mapping[str, str]) -> str:
    """What is not known stays as it is."""

    def value(found: re.Match[str]) -> str:
        name = found[1]
        return "$" if name is None else variables.get(name, found[0])

    return _REFERENCE.sub(value, text)
