"""Protobuf messages of built-in types: numbers, JSON names and types of their fields, from the generated table."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

_TABLE: Final = Path(__file__).parent / "generated" / "protobuf.json"


class MessageField:
    """One field of a message."""

    __slots__ = ("is_list", "is_map", "json_name", "message", "number", "type", "written_always")

    def __init__(self, number: int, json_name: str, type_: str, *, written_always: bool) -> None:
        self.number: Final = number
        #: Empty for an inlined message, whose fields are in the same JSON object.
        self.json_name: Final = json_name
        #: Upstream's encoder writes the field even if empty: the Go field is not a pointer.
        self.written_always: Final = written_always
        self.is_list = False
        self.is_map = False
        #: ``string``, ``time``, …: type of a list's items or a map's values; ``message`` for messages.
        self.type = type_
        #: Definition name of the message; empty for other types.
        self.message = ""


@cache
def fields_of(definition: str) -> tuple[MessageField, ...]:
    """Return the fields of a message in the order of their numbers. Raises KeyError for a type without a message."""
    module = definition.rpartition(".")[0]
    return tuple(_field(module, row) for row in _table()[definition])


def has_message(definition: str) -> bool:
    """Report whether a type has a message."""
    return definition in _table()


def message_names() -> tuple[str, ...]:
    """Return the definition names of all messages."""
    return tuple(_table())


@cache
def _table() -> dict[str, list[list[Any]]]:
    table: dict[str, list[list[Any]]] = msgspec.json.decode(_TABLE.read_bytes())
    return table


def _field(module: str, row: list[Any]) -> MessageField:
    type_ = row[2]
    container = ""
    if not isinstance(type_, str):
        container, type_ = type_
    field = MessageField(row[0], row[1], type_, written_always=len(row) > 3)
    field.is_list = container == "list"
    field.is_map = container == "map"
    if type_.startswith("#"):
        name = type_[1:]
        field.type = "message"
        field.message = name if "." in name else f"{module}.{name}"
    return field
