"""Reader of YAML on PyYAML's event parser (libyaml).

``yes``, ``no``, ``on``, ``off``, ``y`` and ``n`` are booleans, ``0x1f`` and ``017`` integers, timestamps are strings,
keys become strings, and only the first of several documents is read. Events are processed iteratively, so that neither
nesting nor aliases can exhaust the stack or memory.
"""

from __future__ import annotations

from typing import Any, Final, cast

import yaml

from steersman.apimachinery.codec import MAX_DEPTH, DecodeError, check_depth
from steersman.apimachinery.gotext import quote
from steersman.apimachinery.workmeter import spend
from steersman.apimachinery.yaml_scalars import MERGE, key_text, resolve

#: Values that all aliases of a document may expand to. More is an attack ("billion laughs").
MAX_ALIASED_VALUES: Final = 100_000

#: Interval of charges to the work meter, in events, and the cost of an event.
_METER_INTERVAL: Final = 128
_UNITS_PER_EVENT: Final = 10

#: Nesting beyond ``MAX_DEPTH``; libyaml 0.2.6 reports its own limit first if its scanner looks ahead.
_DEPTH: Final = "exceeded max depth"
_LIBYAML_DEPTH: Final = "exceeded maximum nesting depth"


def read_yaml(raw: bytes) -> tuple[Any, list[str]]:
    """Return the tree of the first document, and a message for each duplicate key. Raises ``DecodeError``."""
    loader = yaml.CSafeLoader(raw)
    try:
        return _Builder(loader).document()
    except yaml.YAMLError as error:
        raise DecodeError(f"yaml: {_fault(error)}") from None
    except UnicodeDecodeError:
        raise DecodeError("yaml: invalid UTF-8") from None
    finally:
        loader.dispose()


def _fault(error: yaml.YAMLError) -> str:
    """Format an error as libyaml's Go users do: with a line unless it is the first."""
    if isinstance(error, yaml.reader.ReaderError):
        return str(error.reason)
    if not isinstance(error, yaml.MarkedYAMLError):
        return str(error)
    if error.problem == _LIBYAML_DEPTH:
        return _DEPTH
    line = 0
    if error.problem_mark is not None and error.problem_mark.line:
        # The scanner has not counted its present line yet.
        line = error.problem_mark.line + isinstance(error, yaml.scanner.ScannerError)
    elif error.context_mark is not None:
        line = error.context_mark.line
    problem = error.problem or "unknown problem parsing YAML content"
    return f"line {line}: {problem}" if line else problem


def _line(event: yaml.Event) -> int:
    """Return the line where the event starts, from 1."""
    return event.start_mark.line + 1 if event.start_mark is not None else 0


class _Open:
    """Collection whose end has not been read."""

    __slots__ = ("anchor", "key", "line", "merges", "tree")

    def __init__(self, tree: Any, anchor: str | None, line: int) -> None:
        self.tree = tree
        self.anchor = anchor
        #: Line where it starts, from 1.
        self.line = line
        #: Of a mapping: the key whose value is next, in a tuple.
        self.key: tuple[Any] | None = None
        #: Of a mapping: values of ``<<`` keys.
        self.merges: list[Any] = []


class _Builder:
    """Builder of a tree from parser events."""

    def __init__(self, loader: yaml.CSafeLoader) -> None:
        self._loader = loader
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._aliased_values = 0
        self._duplicates: list[str] = []
        self._root: Any = None

    def document(self) -> tuple[Any, list[str]]:
        next_event = self._loader.get_event
        remaining = _METER_INTERVAL
        while True:
            event = next_event()
            remaining -= 1
            if not remaining:
                spend(_METER_INTERVAL * _UNITS_PER_EVENT)
                remaining = _METER_INTERVAL
            if isinstance(event, yaml.ScalarEvent):
                value = resolve(event.value, tag=event.tag, plain=event.implicit[0])
                if event.anchor:
                    self._anchors[event.anchor] = (value, 1)
                self._add(value, _line(event))
            elif isinstance(event, yaml.MappingStartEvent):
                self._start({}, event)
            elif isinstance(event, yaml.SequenceStartEvent):
                self._start([], event)
            elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
                self._end()
            elif isinstance(event, yaml.AliasEvent):
                self._add(self._alias(event.anchor or ""), _line(event))
            elif isinstance(event, (yaml.DocumentEndEvent, yaml.StreamEndEvent)):
                return self._root, self._duplicates

    def _start(self, tree: Any, event: yaml.CollectionStartEvent) -> None:
        if len(self._open) >= MAX_DEPTH:
            raise DecodeError(f"yaml: {_DEPTH}")
        if event.anchor:
            self._anchors[event.anchor] = (MERGE, 0)
        self._open.append(_Open(tree, event.anchor, _line(event)))

    def _end(self) -> None:
        done = self._open.pop()
        for merged in done.merges:
            for key, value in merged.items():
                done.tree.setdefault(key, value)
        if done.anchor:
            self._anchors[done.anchor] = (done.tree, _size(done.tree))
        self._add(done.tree, done.line)

    def _alias(self, anchor: str) -> Any:
        if anchor not in self._anchors:
            raise DecodeError(f"yaml: unknown anchor '{anchor}' referenced")
        value, size = self._anchors[anchor]
        if value is MERGE:
            raise DecodeError(f"yaml: anchor '{anchor}' value contains itself")
        self._aliased_values += size
        if self._aliased_values > MAX_ALIASED_VALUES:
            raise DecodeError("yaml: document contains excessive aliasing")
        return _copy(value)

    def _add(self, value: Any, line: int) -> None:
        """Add a complete value: the document, an item, a key, or a key's value."""
        if not self._open:
            self._root = None if value is MERGE else _checked(value)
            return
        parent = self._open[-1]
        if isinstance(parent.tree, list):
            parent.tree.append("<<" if value is MERGE else value)
        elif parent.key is None:
            parent.key = (value,)
        else:
            self._add_entry(parent, parent.key[0], value, line)
            parent.key = None

    def _add_entry(self, parent: _Open, key: Any, value: Any, line: int) -> None:
        if value is MERGE:
            value = "<<"
        if key is MERGE:
            parent.merges += _merged_maps(value)
            return
        name = key_text(key)
        if name in parent.tree:
            shown = quote(key) if isinstance(key, str) else name
            self._duplicates.append(f"line {line}: key {shown} already set in map")
        parent.tree[name] = value


def _checked(tree: Any) -> Any:
    """Check the depth again, as aliases may have nested the tree deeper than the text."""
    check_depth(tree, b"[" * (MAX_DEPTH + 1))
    return tree


def _merged_maps(value: Any) -> list[dict[str, Any]]:
    maps = value if isinstance(value, list) else [value]
    if not all(isinstance(entry, dict) for entry in maps):
        raise DecodeError("yaml: map merge requires map or sequence of maps as the value")
    return cast("list[dict[str, Any]]", maps)


def _size(tree: Any) -> int:
    """Return the number of values in a tree, itself included."""
    total = 0
    level = [tree]
    while level:
        total += len(level)
        below: list[Any] = []
        for node in level:
            if isinstance(node, dict):
                below += node.values()
            elif isinstance(node, list):
                below += node
        level = below
    return total


def _copy(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _copy(value) for key, value in node.items()}
    return [_copy(item) for item in node] if isinstance(node, list) else node
