"""The table of protobuf field numbers, with the JSON names of the fields (``schema/generated/protobuf.json``)."""

from __future__ import annotations

import json
from typing import Any

from codegen.sources import OVERLAY

Message = dict[str, list[Any]]


def protobuf_table(types: dict[str, dict[str, Any]]) -> dict[str, dict[str, str]]:
    """Definition → field number → JSON name; ``*Definition`` where the message's fields lie in the same JSON object."""
    messages: dict[str, Message] = json.loads((OVERLAY / "protobuf.json").read_text())
    table: dict[str, dict[str, str]] = {}
    for message, fields in messages.items():
        if _is_map_entry(message):
            continue
        name = _definition(message)
        properties = types.get(name, {}).get("properties", {})
        table[name] = {str(row[0]): _place(field, row, properties, messages) for field, row in fields.items()}
    return table


def _place(field: str, row: list[Any], properties: dict[str, Any], messages: dict[str, Message]) -> str:
    by_lower = {known.lower(): known for known in properties}
    if field.lower() in by_lower:
        return by_lower[field.lower()]
    if properties and len(row) > 1 and row[1] in messages:
        return f"*{_definition(row[1])}"
    # A message that is only ever part of others: Volume's sources, a probe's handler.
    return f"*{_definition(row[1])}" if len(row) > 1 and field == _inline_name(row[1]) else field


def _inline_name(message: str) -> str:
    name = message.rpartition(".")[2]
    return name[:1].lower() + name[1:]


def _definition(message: str) -> str:
    return message.replace("k8s.io.", "io.k8s.", 1)


def _is_map_entry(message: str) -> bool:
    return message.endswith("Entry") and message.rpartition(".")[0].rpartition(".")[2][:1].isupper()
