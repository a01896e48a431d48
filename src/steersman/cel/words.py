"""Names that expressions may use, and words that the language keeps for itself."""

from __future__ import annotations

import re
from typing import Final

#: Words that are no names, whether the grammar uses them yet or not.
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
    """Whether a text has the form of a name; reserved words have it too."""
    return _NAME.fullmatch(text) is not None
