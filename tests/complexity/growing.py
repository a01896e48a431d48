"""Objects of built-in kinds with one list, map or text grown to a given size.

Values follow the schema, not the validation of a kind: rules must be bounded for invalid input too. Each collection is
grown with members that all differ and with members that are all equal, as duplicates take other paths.
"""

from __future__ import annotations

import copy
import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from steersman.apimachinery.typemodel import ListOf, MapOf, Scalar, ScalarKind, Struct

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.typemodel import Type

#: Fields that the server sets; their growth is not the client's to choose.
_SERVER_FIELDS = frozenset({"managedFields", "status"})
#: Types that recur below many kinds; they are grown below the first kind that has them.
_DEPTH_MAX = 9
_TIME = dt.datetime(2026, 1, 1, tzinfo=dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True)
class Growth:
    """A field of a kind that can be grown."""

    #: Names of fields; ``[]`` is the first item of a list and ``{}`` a key of a map.
    path: tuple[str, ...]
    type: Type
    #: ``distinct`` or ``equal`` members; ``text`` for a string.
    manner: str
    #: Field of a union (a volume's source) that every member sets; empty for none.
    member: str = ""

    @property
    def label(self) -> str:
        """Return the field and manner, e.g. ``spec.volumes (distinct, configMap)``."""
        dotted = ".".join(self.path).replace(".[]", "[]").replace(".{}", "{}")
        return f"{dotted} ({', '.join(filter(None, (self.manner, self.member)))})"


def growths(struct: Struct, *, seen: set[tuple[str, str]]) -> Iterator[Growth]:
    """Yield the growths of a kind. ``seen`` holds the (struct, field) pairs that earlier kinds have covered."""
    yield from _below(struct, (), seen)


def _below(struct: Struct, path: tuple[str, ...], seen: set[tuple[str, str]]) -> Iterator[Growth]:
    if len(path) > _DEPTH_MAX:
        return
    for name, field in struct.fields.items():
        if (not path and name in _SERVER_FIELDS) or name == "managedFields" or (struct.name, name) in seen:
            continue
        seen.add((struct.name, name))
        yield from _of_type(field.type, (*path, name), seen)


def _of_type(type_: Type, path: tuple[str, ...], seen: set[tuple[str, str]]) -> Iterator[Growth]:
    if isinstance(type_, Struct):
        yield from _below(type_, path, seen)
    elif isinstance(type_, Scalar):
        if type_.kind is ScalarKind.STRING:
            yield Growth(path, type_, "text")
    elif isinstance(type_, MapOf):
        yield Growth(path, type_, "distinct")
        yield from _of_type(type_.value, (*path, "{}"), seen)
    else:
        members = _union_members(type_.item)
        yield Growth(path, type_, "equal")
        for member in members or ("",):
            yield Growth(path, type_, "distinct", member)
        yield from _of_type(type_.item, (*path, "[]"), seen)


def _union_members(type_: Type) -> tuple[str, ...]:
    """Return the struct-typed fields of a type that has many: of most such types one is to be set."""
    if not isinstance(type_, Struct):
        return ()
    members = tuple(name for name, field in type_.fields.items() if isinstance(field.type, Struct))
    return members if len(members) > 3 else ()


def grown(tree: dict[str, Any], struct: Struct, growth: Growth, size: int) -> dict[str, Any]:
    """Return a copy of ``tree`` in which the field has ``size`` members or characters."""
    result = copy.deepcopy(tree)
    _set(result, struct, growth.path, growth, size)
    return result


def _set(tree: dict[str, Any], struct: Struct, path: tuple[str, ...], growth: Growth, size: int) -> None:
    name, *rest = path
    type_ = struct.fields[name].type
    if not rest:
        tree[name] = _collection(type_, growth, size)
        return
    holder: Any = tree
    key: Any = name
    while rest and rest[0] in ("[]", "{}"):
        step = rest.pop(0)
        assert isinstance(type_, ListOf | MapOf)
        inner = type_.item if isinstance(type_, ListOf) else type_.value
        if not holder.get(key) if isinstance(holder, dict) else not holder[key]:
            first = sample(inner, name, 0, depth=1)
            holder[key] = [first] if step == "[]" else {"key": first}
        holder = holder[key]
        key = 0 if step == "[]" else next(iter(holder))
        type_ = inner
    if not rest:
        holder[key] = _collection(type_, growth, size)
        return
    assert isinstance(type_, Struct)
    existing = holder.get(key) if isinstance(holder, dict) else holder[key]
    if not isinstance(existing, dict):
        existing = holder[key] = sample(type_, name, 0, depth=1)
    _set(existing, type_, tuple(rest), growth, size)


def _collection(type_: Type, growth: Growth, size: int) -> Any:
    name = growth.path[-1]
    if isinstance(type_, Scalar):
        return "a" * size
    if isinstance(type_, MapOf):
        return {f"key-{index}": sample(type_.value, name, index, depth=1) for index in range(size)}
    assert isinstance(type_, ListOf)
    if growth.manner == "equal":
        return [sample(type_.item, name, 0, depth=2) for _ in range(size)]
    return [sample(type_.item, name, index, depth=2, member=growth.member) for index in range(size)]


def sample(type_: Type, name: str, index: int, *, depth: int, member: str = "") -> Any:
    """Return a value of the type. Fields that identify it differ by ``index``; nested collections have one member."""
    if isinstance(type_, Scalar):
        return _scalar(type_, name, index)
    if isinstance(type_, ListOf):
        return [sample(type_.item, name, index, depth=depth - 1)] if depth > 0 else []
    if isinstance(type_, MapOf):
        return {f"key-{index}": sample(type_.value, name, index, depth=depth - 1)} if depth > 0 else {}
    is_union = bool(_union_members(type_))
    tree: dict[str, Any] = {}
    for field_name, field in type_.fields.items():
        is_struct = isinstance(field.type, Struct)
        if is_struct and (is_union or depth <= 0) and field_name != member:
            continue
        if depth <= 0 and not isinstance(field.type, Scalar):
            continue
        if field.type is type_:
            continue
        tree[field_name] = sample(field.type, field_name, index, depth=depth - 1)
    return tree


_SHARED_TEXTS = {"kind": "ConfigMap", "apiVersion": "v1", "protocol": "TCP", "image": "image", "mountPath": "/data"}


def _scalar(type_: Scalar, name: str, index: int) -> Any:
    kind = type_.kind
    if type_.enum:
        return type_.enum[0]
    if kind in (ScalarKind.INT32, ScalarKind.INT64):
        return 1 + index % 60_000
    if kind is ScalarKind.NUMBER:
        return 0.5
    if kind is ScalarKind.BOOLEAN:
        return False
    if kind is ScalarKind.BYTES:
        return "YQ=="
    if kind is ScalarKind.TIME:
        return _TIME
    if kind is ScalarKind.MICRO_TIME:
        return _TIME.replace("Z", ".000000Z")
    if kind is ScalarKind.DURATION:
        return "1s"
    if kind in (ScalarKind.QUANTITY, ScalarKind.INT_OR_STRING):
        return "1"
    if kind in (ScalarKind.ANY, ScalarKind.RAW):
        return {"apiVersion": "v1", "kind": "ConfigMap"}
    if kind is not ScalarKind.STRING:
        return {"type": "string"}
    if name in _SHARED_TEXTS:
        return _SHARED_TEXTS[name]
    if "ip" in name.lower().split("_") or name.endswith(("IP", "IPs")) or name == "ip":
        return f"10.{index // 65536 % 256}.{index // 256 % 256}.{index % 256}"
    if "cidr" in name.lower():
        return f"10.{index // 256 % 256}.{index % 256}.0/24"
    return f"{name.lower()[:20]}-{index}"
