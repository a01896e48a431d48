"""Rendering, writing and comparison of the generated tree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from codegen.protobuf import protobuf_table
from codegen.resources import resource_table
from codegen.sources import definitions
from codegen.types import kinds_of, type_tables

GENERATED = Path(__file__).parent.parent / "src" / "steersman" / "schema" / "generated"
HEADER = '"""Written by `python -m codegen`; do not edit. Read by `steersman.schema.loader` and `.resources`."""\n'


def render() -> dict[str, str]:
    """Return the whole tree as file name → text."""
    types = definitions()
    files = {"__init__.py": HEADER, "resources.json": _resource_lines(resource_table(kinds_of(types)))}
    for name, table in type_tables(types).items():
        files[f"{name}.json"] = _type_lines(table)
    files["protobuf.json"] = _type_lines(protobuf_table(types))
    return files


def write(files: dict[str, str]) -> None:
    """Make the tree equal to `files`; remove all other files in it."""
    GENERATED.mkdir(exist_ok=True)
    for path in GENERATED.iterdir():
        if path.is_file() and path.name not in files:
            path.unlink()
    for name, text in files.items():
        (GENERATED / name).write_text(text)


def stale(files: dict[str, str]) -> list[str]:
    """Return the names of missing, different and superfluous files."""
    existing = {path.name: path.read_text() for path in GENERATED.iterdir() if path.is_file()}
    return sorted(name for name in files.keys() | existing.keys() if files.get(name) != existing.get(name))


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _resource_lines(table: dict[str, Any]) -> str:
    """Yield one line per group and resource, for readable diffs."""
    groups = ",\n".join(_compact(group) for group in table["groups"])
    rows = ",\n".join(_compact(row) for row in table["resources"])
    return f'{{"groups":[\n{groups}\n],"resources":[\n{rows}\n]}}\n'


def _type_lines(table: dict[str, Any]) -> str:
    """Yield one line per type."""
    lines = ",\n".join(f"{_compact(name)}:{_compact(row)}" for name, row in sorted(table.items()))
    return f"{{\n{lines}\n}}\n"
