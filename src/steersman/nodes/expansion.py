"""Expansion of ``$(NAME)`` in commands, arguments and variables; ``$$`` is an escaped dollar sign.

Upstream: third_party/forked/golang/expansion; API reference of ``Container.command``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_REFERENCE: Final = re.compile(r"\$(?:\$|\(([^)]*)\))")


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Replace references to ``variables``; a reference to an undefined variable is left unchanged."""

    def value(match: re.Match[str]) -> str:
        name = match[1]
        return "$" if name is None else variables.get(name, match[0])

    return _REFERENCE.sub(value, text)
