"""Values that extend built-in types."""

from __future__ import annotations

from typing import Any, Final


class UInt(int):
    """A uint64."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{int(self)}u"


class SetList(list[Any]):
    """A list with ``x-kubernetes-list-type: set``: unordered and without duplicates."""

    __slots__ = ()


class MapList(list[Any]):
    """A list with ``x-kubernetes-list-type: map``: items are identified by their keys."""

    __slots__ = ("keys",)

    def __init__(self, items: list[Any], keys: tuple[str, ...]) -> None:
        super().__init__(items)
        self.keys: Final = keys


class ObjectValue(dict[str, Any]):
    """An object literal (``Object.spec{…}``)."""

    __slots__ = ("type_name",)

    def __init__(self, fields: dict[str, Any], type_name: str) -> None:
        super().__init__(fields)
        self.type_name: Final = type_name


class ByDomain(dict[str, dict[str, Any]]):
    """Values of a device by domain and name; a missing domain reads as empty."""

    def __missing__(self, domain: str) -> dict[str, Any]:
        return {}
