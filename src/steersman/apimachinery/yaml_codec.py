"""YAML 1.1 bodies with JSON's types, read and written as by Kubernetes.

Clients mostly send JSON under a YAML media type. Such bodies are read by the JSON decoder; PyYAML is imported with the
first body that needs it (``yaml_reader``, ``yaml_writer``).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.codec import DecodeError, decode_json, duplicate_fields

if TYPE_CHECKING:
    from collections.abc import Callable

_FLOAT_IN_JSON: Final = re.compile(rb"[:\[,][ \t\r\n]*-?[0-9]+[.eE]")


class YAMLDocument:
    """Decoded body: its tree, and messages for duplicate keys (``line 8: key "k" already set in map``)."""

    __slots__ = ("duplicates", "tree")

    def __init__(self, tree: Any, duplicates: list[str]) -> None:
        self.tree: Final = tree
        self.duplicates: Final = duplicates

    def strict_error(self) -> str:
        """Return the error of strict decoding for the duplicates; empty without any."""
        return "\n  ".join(("yaml: unmarshal errors:", *self.duplicates)) if self.duplicates else ""


def decode_yaml(raw: bytes) -> YAMLDocument:
    """Return the first document of a YAML text; a text without documents is null. Raises ``DecodeError`` for malformed text."""
    if raw.startswith(b"{"):
        document = _decode_json(raw)
        if document is not None:
            return document
    from steersman.apimachinery.yaml_reader import read_yaml  # noqa: PLC0415 — imports PyYAML

    return YAMLDocument(*read_yaml(raw))


def encode_yaml(tree: Any) -> bytes:
    """Return a tree as YAML."""
    from steersman.apimachinery.yaml_writer import write_yaml  # noqa: PLC0415 — imports PyYAML

    return write_yaml(tree)


def _decode_json(raw: bytes) -> YAMLDocument | None:
    """Return the document if the text is JSON without duplicate keys: ten times as fast as parsing YAML."""
    try:
        tree = decode_json(raw)
    except DecodeError:
        return None
    if duplicate_fields(raw, tree):
        return None
    if not _FLOAT_IN_JSON.search(raw):
        return YAMLDocument(tree, [])
    from steersman.apimachinery.yaml_scalars import whole_if_whole  # noqa: PLC0415 — only for floats

    return YAMLDocument(_with_whole_numbers(tree, whole_if_whole), [])


def _with_whole_numbers(node: Any, convert: Callable[[float], Any]) -> Any:
    if isinstance(node, dict):
        return {key: _with_whole_numbers(value, convert) for key, value in node.items()}
    if isinstance(node, list):
        return [_with_whole_numbers(item, convert) for item in node]
    return convert(node) if isinstance(node, float) else node
