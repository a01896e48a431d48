"""Kubeconfig edited as YAML nodes, so that other entries keep each scalar as written.

Loading and dumping values would change what YAML 1.1 reads as another type: a token ``0123`` would become ``83``.
Comments are lost, as with ``kubectl config``.
"""

from __future__ import annotations

from typing import Any, Final

import yaml
from yaml.representer import SafeRepresenter

SECTIONS: Final = ("clusters", "users", "contexts")
_CURRENT_CONTEXT: Final = "current-context"
_NULL: Final = "tag:yaml.org,2002:null"


class DocumentError(ValueError):
    """The text is not a valid kubeconfig."""


class KubeconfigDocument:
    """Entries of a kubeconfig by section and name."""

    def __init__(self, root: yaml.MappingNode) -> None:
        self._root = root

    @classmethod
    def parse(cls, data: bytes) -> KubeconfigDocument:
        """Read a kubeconfig; nothing, or null, is an empty one. Raises DocumentError."""
        try:
            root = yaml.compose(data.decode(), Loader=yaml.SafeLoader)
        except (UnicodeDecodeError, RecursionError, yaml.YAMLError) as error:
            raise DocumentError(str(error)) from error
        if root is None or root.tag == _NULL:
            root = yaml.MappingNode("tag:yaml.org,2002:map", [])
        if not isinstance(root, yaml.MappingNode):
            raise DocumentError("it is no mapping")
        document = cls(root)
        for section in SECTIONS:
            node = document._find(root, section)
            if node is not None and node.tag != _NULL and not isinstance(node, yaml.SequenceNode):
                raise DocumentError(f"{section} is no list")
        for key, value in (("apiVersion", "v1"), ("kind", "Config")):
            if document._find(root, key) is None:
                root.value.append((_node(key), _node(value)))
        return document

    def dump(self) -> bytes:
        """Return the document as YAML."""
        text: str = yaml.serialize(self._root, Dumper=yaml.SafeDumper, allow_unicode=True)
        return text.encode()

    @property
    def current_context(self) -> str:
        """``current-context``; empty if absent."""
        node = self._find(self._root, _CURRENT_CONTEXT)
        return node.value if isinstance(node, yaml.ScalarNode) and node.tag != _NULL else ""

    @current_context.setter
    def current_context(self, name: str) -> None:
        self._set(_CURRENT_CONTEXT, _node(name))

    def entries(self, section: str) -> list[dict[str, Any]]:
        """Return the values of all entries of a section."""
        values = [_value(node) for node in self._items(section)]
        return [value for value in values if isinstance(value, dict)]

    def entry(self, section: str, name: str) -> dict[str, Any] | None:
        """Return the value of an entry; None if absent."""
        return next((entry for entry in self.entries(section) if entry.get("name") == name), None)

    def put(self, section: str, entry: dict[str, Any]) -> None:
        """Replace the entry of the same name, or add one at the end."""
        items, new = self._items(section), _node(entry)
        at = next((i for i, node in enumerate(items) if _name(node) == entry["name"]), None)
        if at is None:
            self._set(section, yaml.SequenceNode("tag:yaml.org,2002:seq", [*items, new], flow_style=False))
        else:
            items[at] = new
            self.remove(section, entry["name"], keep=new)

    def remove(self, section: str, name: str, *, keep: Any = None) -> None:
        """Remove all entries of that name, except the node ``keep``."""
        items = self._items(section)
        items[:] = [node for node in items if node is keep or _name(node) != name]

    def _items(self, section: str) -> list[Any]:
        """Return the nodes of a section, as the list in the document if present."""
        node = self._find(self._root, section)
        return node.value if isinstance(node, yaml.SequenceNode) else []

    def _set(self, key: str, value: Any) -> None:
        pairs = self._root.value
        at = next((i for i, (node, _) in enumerate(pairs) if node.value == key), None)
        if at is None:
            pairs.append((_node(key), value))
        else:
            pairs[at] = (pairs[at][0], value)

    @staticmethod
    def _find(mapping: yaml.MappingNode, key: str) -> yaml.Node | None:
        return next((value for node, value in mapping.value if node.value == key), None)


def _node(value: Any) -> yaml.Node:
    node: yaml.Node = SafeRepresenter(default_flow_style=False, sort_keys=False).represent_data(value)
    return node


def _value(node: yaml.Node) -> Any:
    loader = yaml.SafeLoader("")
    try:
        return loader.construct_document(node)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None  # an unreadable entry was not written by us
    finally:
        loader.dispose()


def _name(node: yaml.Node) -> str | None:
    name_node = KubeconfigDocument._find(node, "name") if isinstance(node, yaml.MappingNode) else None
    return name_node.value if isinstance(name_node, yaml.ScalarNode) else None
