"""What types and fields mean, for `kubectl explain`: read from the docstrings of the typed models, on demand.

Nothing is imported or parsed before the first question about a group.
"""

from __future__ import annotations

import importlib.util
import re
from functools import cache
from typing import Final

from steersman.schema.loader import struct

_FIELD: Final = re.compile(r"^ *\* \*\*(\w+)\*\* ``[^`]*`` - ?", re.MULTILINE)
_MARK: Final = "**parameters**"
_PARAGRAPHS: Final = re.compile(r"\n\s*\n")


@cache
def describe(definition: str) -> tuple[str, dict[str, str]]:
    """The text of a type and of each of its fields by JSON name; empty texts where there is nothing to tell."""
    docstring = _docstring(definition)
    type_text, _, rest = docstring.partition(_MARK)
    by_python_name: dict[str, str] = {}
    parts = _FIELD.split(rest)
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        by_python_name[name] = _unwrap(text)
    try:
        names = list(struct(definition).fields)
    except KeyError:
        names = []
    return _unwrap(type_text), {name: by_python_name.get(_python_name(name, by_python_name), "") for name in names}


def _docstring(definition: str) -> str:
    module, _, name = definition.rpartition(".")
    group, version = module.split(".")[-2:]
    # Modules without a version (`pkg.version`, `pkg.runtime`) are named by their last word alone.
    for candidate in (f"lightkube.models.{group}_{version}", f"lightkube.models.{version}"):
        if importlib.util.find_spec(candidate):
            return getattr(importlib.import_module(candidate), name, None).__doc__ or ""
    return ""


def _python_name(name: str, known: dict[str, str]) -> str:
    """As the models spell a JSON name: `from` → `from_`, `$ref` → `d_ref`, `x-kubernetes-y` → `x_kubernetes_y`."""
    plain = name.replace("$", "d_").replace("-", "_")
    return plain if plain in known else f"{plain}_"


def _unwrap(text: str) -> str:
    """Joins wrapped lines, keeping paragraphs."""
    return "\n\n".join(" ".join(part.split()) for part in _PARAGRAPHS.split(text.strip()))
