"""Values as Go prints them in messages: all fields of the type in declaration order, with Go names, including unset
ones.

Some upstream messages contain a whole value, formatted by ``json.Marshal`` of an internal type without JSON names.
"""

from __future__ import annotations

import json
import re
from difflib import unified_diff
from functools import cache
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.apiserver.kinds.shared.go_types import TYPES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from steersman.apimachinery.trees import Tree

_TYPE: Final = re.compile(r"^(\w+):(.*(?:\n  .*)*)", re.MULTILINE)
_FIELD: Final = re.compile(r"(\w+)(?:=(\w+))?(?::(\w+))?([#!?~]?)")
_ZEROS: Final[Mapping[str, Any]] = {"": "", "#": 0, "!": False, "?": None, "~": None}
#: Fields of the internal PodSecurityContext that v1 has in PodSpec.
_HOST_FIELDS: Final = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")
_METADATA: Final = ("name", "generateName", "namespace", "labels", "annotations", "ownerReferences", "finalizers")
_HEADER_LINES: Final = 2
_COMPARED_LINES_MAX: Final = 1000


class _Field(msgspec.Struct, frozen=True):
    name: str
    key: str
    #: Name of the field's type, or of an embedded type; empty if the table lacks it.
    type: str
    kind: str


def go_form(type_name: str, tree: Any) -> Any:
    """Return a value of the type, or a list of them, as a tree in Go's form."""
    if isinstance(tree, list):
        return [go_form(type_name, item) for item in tree]
    shown: Tree = {}
    for field in _fields(type_name):
        if field.type == "ObjectMeta":
            metadata = tree.get("metadata") or {}
            shown |= {key: _sorted(metadata[key]) for key in _METADATA if metadata.get(key)}
            continue
        value = tree.get(field.key)
        if field.key == "securityContext" and type_name == "PodSpec" and value is not None:
            value = {**value, **{key: tree[key] for key in _HOST_FIELDS if key in tree}}
        if not field.type:
            shown[field.name] = _ZEROS[field.kind] if value is None else _sorted(value)
        elif value is None and field.kind:
            shown[field.name] = None
        else:
            shown[field.name] = go_form(field.type, {} if value is None else value)
    return shown


def go_diff(type_name: str, old: Any, new: Any) -> str:
    """Return a unified diff without header of two values, one field per line.

    The comparison of lines is quadratic. In long values, the lines between the common prefix and suffix are shown as
    replaced.
    """
    before, after = _lines(go_form(type_name, old)), _lines(go_form(type_name, new))
    if max(len(before), len(after)) <= _COMPARED_LINES_MAX:
        return "".join(list(unified_diff(before, after))[_HEADER_LINES:])
    head = _equal_count(before, after)
    tail = _equal_count(reversed(before[head:]), reversed(after[head:]))
    removed, added = before[head : len(before) - tail], after[head : len(after) - tail]
    return "".join([*(f"-{line}" for line in removed), *(f"+{line}" for line in added)])


def _equal_count(left: Iterable[str], right: Iterable[str]) -> int:
    """Return the length of the common prefix."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False)))


def _lines(value: Any) -> list[str]:
    text = json.dumps(value, indent=1, ensure_ascii=False)
    return [f"{line}\n" for line in text.split("\n")]


def _sorted(value: Any) -> Any:
    """Sort maps by key, as Go does."""
    return dict(sorted(value.items())) if isinstance(value, dict) else value


@cache
def _fields(type_name: str) -> tuple[_Field, ...]:
    return tuple(field for token in _table()[type_name].split() for field in _read(token))


@cache
def _table() -> dict[str, str]:
    return {match[1]: match[2] for match in _TYPE.finditer(TYPES)}


def _read(token: str) -> tuple[_Field, ...]:
    if token.startswith("..."):
        name = token.removeprefix("...")
        return (_Field("", "", name, ""),) if name == "ObjectMeta" else _fields(name)
    match = _FIELD.fullmatch(token)
    if match is None:
        raise ValueError(f"not a field: {token}")
    name, key, type_, kind = match.groups()
    return (_Field(name, key or _key(name), type_ or "", kind),)


def _key(name: str) -> str:
    """Return the JSON name of a Go field: ``DNSPolicy`` is ``dnsPolicy``, ``TTY`` is ``tty``."""
    capitals = len(name) - len(name.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
    if capitals == len(name):
        return name.lower()
    end = max(1, capitals - 1)
    return name[:end].lower() + name[end:]
