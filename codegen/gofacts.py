"""Go's encoding of fields, which the schema does not contain: heuristics and `overlay/fields.yaml`.

The overlay names, per type, fields that deviate from the heuristics: `value` (held by value, not by pointer),
`pointer`, `written` (no `omitempty`), `omitted` (`omitempty` though OpenAPI requires it), `omitzero`.
"""

from __future__ import annotations

from typing import Any

#: Optional fields of these kinds are pointers unless the overlay overrides it.
POINTERS = frozenset({"boolean", "int32", "int64", "number", "int-or-string", "time", "micro-time", "quantity", "any"})
#: Go writes these even under `omitempty` when they are held by value: they are structs there.
STRUCTS = frozenset({"int-or-string", "time", "micro-time", "quantity", "raw"})
#: Structs of these names are held by value wherever they occur.
BY_VALUE = frozenset({"metadata", "spec", "status"})


def flags_of(name: str, type_: Any, *, required: bool, go: dict[str, list[str]]) -> str:
    """Return the flags of one field (see `codegen.types`); `required` is from the published schema."""
    is_struct = isinstance(type_, str) and (type_.startswith(("#", "schema-or")) or type_ in STRUCTS)
    optional_pointer = (
        not required and isinstance(type_, str) and (type_.startswith(("#", "schema-or")) or type_ in POINTERS)
    )
    if isinstance(type_, str) and type_.startswith("#"):
        optional_pointer = optional_pointer and name not in BY_VALUE
    pointer = name in go.get("pointer", ()) or (optional_pointer and name not in go.get("value", ()))
    omitempty = (not required and name not in go.get("written", ())) or name in go.get("omitted", ())
    omitzero = name in go.get("omitzero", ())
    written = not omitempty or (is_struct and not pointer and not omitzero)
    return "".join(flag for flag, holds in (("r", required), ("w", written), ("p", pointer), ("z", omitzero)) if holds)
