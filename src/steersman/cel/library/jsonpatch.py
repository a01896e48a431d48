"""Object construction in mutating policies (KEP-3962): ``Object{spec: Object.spec{…}}`` and ``JSONPatch{op: "add",
…}``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from steersman.cel import types as t
from steersman.cel.functions import Function, Overload
from steersman.cel.types import Type

JSON_PATCH: Final = t.object_type("JSONPatch", {"op": t.STRING, "path": t.STRING, "from": t.STRING, "value": t.DYN})


class _AnyField(Mapping[str, Type]):
    """Mapping that contains every field with type ``dyn``."""

    def __getitem__(self, name: str) -> Type:
        return t.DYN

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 1


def resolve_type(name: str) -> Type | None:
    """Return the type ``JSONPatch``, ``Object`` or a nested one (``Object.spec.template``)."""
    if name == JSON_PATCH.name:
        return JSON_PATCH
    if name == "Object" or name.startswith("Object."):
        return t.object_type(name, _AnyField())
    return None


def _escape_key(text: str) -> str:
    return text.replace("~", "~0").replace("/", "~1")


def functions() -> Iterator[Function]:
    """Return ``jsonpatch.escapeKey``."""
    yield Function(
        "jsonpatch.escapeKey", [Overload("string_jsonpatch_escapeKey_string", (t.STRING,), t.STRING, _escape_key)]
    )
