"""What differs between two trees, as lines that people can read."""

from __future__ import annotations

import json
from difflib import unified_diff
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_HEADER_LINES: Final = 2


def tree_diff(old: Any, new: Any) -> str:
    """A unified diff without header of both trees, one value a line."""
    lines = list(unified_diff(_lines(old), _lines(new), lineterm="\n"))
    return "".join(lines[_HEADER_LINES:])


def _lines(tree: Any) -> list[str]:
    text = json.dumps(tree, indent=1, ensure_ascii=False)
    return _ended(text.split("\n"))


def _ended(lines: Iterable[str]) -> list[str]:
    return [f"{line}\n" for line in lines]
