"""Descriptions of types and fields for `kubectl explain` and Tables, read from the typed models' docstrings on demand.

A group's source is parsed on the first request and not imported, which takes a tenth of the time. The docstrings are
the published texts wrapped at 78 columns, without empty lines and indentation; `_unwrap` restores what can be.
"""

from __future__ import annotations

import importlib.util
import re
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Final

from steersman.schema.loader import struct

_CLASS: Final = re.compile(r'^class (\w+)\([^\n]*\):\n    r"""(.*?)"""', re.MULTILINE | re.DOTALL)
_FIELD: Final = re.compile(r"^ *\* \*\*(\w+)\*\* ``[^`]*`` - ?", re.MULTILINE)
_MARK: Final = "**parameters**"
_WIDTH: Final = 78
#: Prefix of a list item.
_ITEM: Final = re.compile(r"[-*] |\d+\. |\S+ - |\"")
_TWO_SPACES: Final = re.compile(r"\.  [A-Z`']")
_ONE_SPACE: Final = re.compile(r"\. [A-Z`']")


@cache
def describe(definition: str) -> tuple[str, dict[str, str]]:
    """Return the description of a type and of each of its fields by JSON name; empty texts where there are none."""
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
    # Modules without a version (`pkg.version`, `pkg.runtime`) are named by their last segment alone.
    for candidate in (f"{group}_{version}", version):
        docstring = _docstrings(candidate).get(name)
        if docstring is not None:
            return docstring
    return ""


def model_folders() -> list[Path]:
    """Return the folders of the typed models' sources; none when they are not installed."""
    models = importlib.util.find_spec("lightkube")
    locations = (models.submodule_search_locations or ()) if models is not None else ()
    return [Path(location, "models") for location in locations]


@cache
def _docstrings(module: str) -> dict[str, str]:
    """Return the docstrings of a module of the models by class; none if the module does not exist."""
    for folder in model_folders():
        path = folder / f"{module}.py"
        if path.is_file():
            return dict(_CLASS.findall(path.read_text(encoding="utf-8")))
    return {}


def _python_name(name: str, by_python_name: dict[str, str]) -> str:
    """Return the models' form of a JSON name: `from` → `from_`, `$ref` → `d_ref`, `x-kubernetes-y` → `x_kubernetes_y`."""
    plain = name.replace("$", "d_").replace("-", "_")
    return plain if plain in by_python_name else f"{plain}_"


def _unwrap(text: str) -> str:
    """Join wrapped lines; a paragraph or item ended where the next word would have fitted."""
    lines = [line for line in map(str.strip, text.split("\n")) if line]
    if len(lines) < 2:
        return "".join(lines)
    wide = len(_TWO_SPACES.findall(text)) > len(_ONE_SPACE.findall(text))
    joined = lines[:1]
    in_list = False
    for before, line in pairwise(lines):
        if len(before) + 1 + len(line.partition(" ")[0]) > _WIDTH:
            joined += ("  " if wide and before.endswith(".") else " "), line
            continue
        is_item = _ITEM.match(line) is not None
        joined += ("\n" if is_item and in_list else "\n\n"), line
        in_list = is_item
    return "".join(joined)
