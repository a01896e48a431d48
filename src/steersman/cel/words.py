"""Identifiers and reserved words."""

from __future__ import annotations

import re
from typing import Final

#: Reserved words, including those that the grammar does not use yet.
RESERVED: Final = frozenset(
    [
        "as",
        "break",
        "const",
        "continue",
        "else",
        "false",
        "for",
        "function",
        "if",
        "import",
        "in",
        "let",
        "loop",
        "package",
        "namespace",
        "null",
        "return",
        "true",
        "var",
        "void",
        "while",
    ]
)

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def is_name(text: str) -> bool:
    """Report whether the text is an identifier; reserved words count as well."""
    return _NAME.fullmatch(text) is not None
