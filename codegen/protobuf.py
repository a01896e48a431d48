"""Table of protobuf messages with the JSON names of their fields (``schema/generated/protobuf.json``).

``overlay/protobuf.json`` has facts of a real control plane: message → field → number, type, and ``always`` if
upstream's encoder writes the field even if empty. A row of the table is ``[number, JSON name, type]``, with a fourth
element 1 for ``always``; an empty JSON name marks an inlined message, whose fields are in the same JSON object. Types
are scalars (``string``), leaves (``time``), messages (``#Name`` of the same module, ``#io.k8s…Name`` of another),
``["list", type]`` or ``["map", type]``.
"""

from __future__ import annotations

import json
import re
from typing import Any

from codegen.sources import OVERLAY
from codegen.types import LEAVES, META

Message = dict[str, list[Any]]
Types = dict[str, dict[str, Any]]

#: Messages that are leaves in JSON, beside those that are leaves of the schema.
_LEAVES = LEAVES | {
    META + "FieldsV1": "raw",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON": "raw",
    META + "Duration": "duration",
    # Named Go slices: messages with one repeated string.
    META + "Verbs": "strings",
    "io.k8s.api.authentication.v1.ExtraValue": "strings",
    "io.k8s.api.authorization.v1.ExtraValue": "strings",
    "io.k8s.api.certificates.v1.ExtraValue": "strings",
}
_SCALARS = frozenset({"bool", "bytes", "double", "int32", "int64", "string"})
#: Without a definition in the published schema: discovery and metadata-only kinds, and node ports, which are stored only.
_UNPUBLISHED = re.compile(
    r"io\.k8s\.api\.apidiscovery\..*|io\.k8s\.apimachinery\.pkg\.apis\.meta\.v1(beta1)?\.PartialObjectMetadata(List)?"
    r"|io\.k8s\.apimachinery\.pkg\.apis\.meta\.v1\.(GroupVersionKind|List)"
    r"|io\.k8s\.api\.core\.v1\.RangeAllocation"
)
#: Fields of JSON objects that are part of the envelope in protobuf.
_OF_KIND = frozenset({"apiVersion", "kind"})
_RENAMED = {"ref": "$ref", "schema": "$schema"}


def protobuf_table(types: Types) -> dict[str, list[list[Any]]]:
    """Return the rows of every message that a served type needs. Raises ValueError for a JSON field without a number."""
    builder = _Builder(types)
    for name in builder.messages:
        if name not in _LEAVES and (name in types or _UNPUBLISHED.fullmatch(name)):
            builder.add(name, set(types.get(name, {}).get("properties", ())))
    table = builder.table
    for name in table.keys() & types.keys():
        unnumbered = set(types[name].get("properties", ())) - _names(table[name], name, table) - _OF_KIND
        if unnumbered:
            raise ValueError(f"overlay/protobuf.json: {name} has no number for {sorted(unnumbered)}")
    return table


def facts() -> dict[str, Message]:
    """Return message → field → number, type and optionally ``always``."""
    messages: dict[str, Message] = json.loads((OVERLAY / "protobuf.json").read_text())
    return messages


class _Builder:
    """Table under construction.

    An inlined message without a definition gets its rows with the first message that inlines it.
    """

    def __init__(self, types: Types) -> None:
        self._types = types
        self.messages = {definition_name(name): fields for name, fields in facts().items()}
        self.table: dict[str, list[list[Any]]] = {}

    def add(self, name: str, properties: set[str]) -> None:
        """Add the rows of a message, in ascending order of field numbers."""
        module = name.rpartition(".")[0]
        rows = self.table[name] = []
        for field, (number, type_, *flags) in sorted(self.messages[name].items(), key=lambda item: item[1][0]):
            json_name = _json_name(field, properties)
            resolved = _type(type_, module)
            if json_name is None:
                inlined = _target(resolved, module)
                if inlined not in self._types and inlined not in self.table:
                    self.add(inlined, properties)
            rows.append([number, json_name or "", resolved, *([1] if flags == ["always"] else [])])


def _target(type_: str, module: str) -> str:
    """Return the definition name of a message's type."""
    name = type_.removeprefix("#")
    return name if "." in name else f"{module}.{name}"


def _json_name(field: str, properties: set[str]) -> str | None:
    """Return the JSON name of a field; None for an inlined message. Types without a definition use equal names."""
    if not properties:
        return field
    by_letters = {re.sub(r"[^a-z0-9$]", "", name.lower()): name for name in properties}
    return by_letters.get(field.lower()) or by_letters.get(_RENAMED.get(field, "").lower())


def _names(rows: list[list[Any]], name: str, table: dict[str, list[list[Any]]]) -> set[str]:
    """Return the JSON names of a message, including those of inlined messages."""
    module = name.rpartition(".")[0]
    names: set[str] = set()
    for _, json_name, type_, *_ in rows:
        if json_name:
            names.add(json_name)
            continue
        inlined = _target(type_, module)
        names |= _names(table[inlined], inlined, table) if inlined in table else set()
    return names


def _type(text: str, module: str) -> Any:
    if text.startswith("repeated "):
        return ["list", _type(text.removeprefix("repeated "), module)]
    if text.startswith("map<"):
        return ["map", _type(text.removeprefix("map<string,").removesuffix(">"), module)]
    if text in _SCALARS:
        return text
    name = definition_name(text) if "." in text else f"{module}.{text}"
    if leaf := _LEAVES.get(name):
        return "raw" if leaf == "any" else leaf
    target_module, _, short = name.rpartition(".")
    return f"#{short}" if target_module == module else f"#{name}"


def definition_name(message: str) -> str:
    """Return the definition name of a message: ``k8s.io.kube_aggregator.pkg…`` → ``io.k8s.kube-aggregator.pkg…``."""
    module, _, name = message.rpartition(".")
    return f"{module.replace('k8s.io.', 'io.k8s.', 1).replace('_', '-')}.{name}"
