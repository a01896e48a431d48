"""Objects of built-in kinds with one list, map or text grown to a given size.

Values follow the schema, not the validation of a kind: rules must be bounded for invalid input too. Each collection is
grown with members that all differ and with members that are all equal, as duplicates take other paths.
"""

from __future__ import annotations

import copy
import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from steersman.apimachinery.typemodel import ListOf, MapOf, Scalar, ScalarKind, Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
            first = sampler(inner, name, depth=1).at(0)
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
        existing = holder[key] = sampler(type_, name, depth=1).at(0)
    _set(existing, type_, tuple(rest), growth, size)


def _collection(type_: Type, growth: Growth, size: int) -> Any:
    name = growth.path[-1]
    if isinstance(type_, Scalar):
        return "a" * size
    if isinstance(type_, MapOf):
        value = sampler(type_.value, name, depth=1)
        return {f"key-{index}": value.at(index) for index in range(size)}
    assert isinstance(type_, ListOf)
    if growth.manner == "equal":
        return [sampler(type_.item, name, depth=2).at(0)] * size
    item = sampler(type_.item, name, depth=2, member=growth.member)
    return [item.at(index) for index in range(size)]


class Sampler(NamedTuple):
    """Sample values of one type, by index. They share the parts that do not depend on the index."""

    at: Callable[[int], Any]
    varies: bool = True


def sampler(type_: Type, name: str, *, depth: int, member: str = "") -> Sampler:
    """Return the samples of a type. Fields that identify a value differ by index; nested collections have one member."""
    if isinstance(type_, Scalar):
        return _scalar(type_, name)
    if isinstance(type_, ListOf):
        if depth <= 0:
            return _constant([])
        item = sampler(type_.item, name, depth=depth - 1)
        return Sampler(lambda index: [item.at(index)]) if item.varies else _constant([item.at(0)])
    if isinstance(type_, MapOf):
        if depth <= 0:
            return _constant({})
        value = sampler(type_.value, name, depth=depth - 1)
        return Sampler(lambda index: {f"key-{index}": value.at(index)})
    return _struct(type_, depth=depth, member=member)


def _struct(type_: Struct, *, depth: int, member: str) -> Sampler:
    is_union = bool(_union_members(type_))
    fields: dict[str, Sampler] = {}
    for name, field in type_.fields.items():
        is_struct = isinstance(field.type, Struct)
        if is_struct and (is_union or depth <= 0) and name != member:
            continue
        if depth <= 0 and not isinstance(field.type, Scalar):
            continue
        if field.type is type_:
            continue
        fields[name] = sampler(field.type, name, depth=depth - 1)
    first = {name: field.at(0) for name, field in fields.items()}
    varying = [(name, field.at) for name, field in fields.items() if field.varies]
    if not varying:
        return _constant(first)
    return Sampler(lambda index: {**first, **{name: at(index) for name, at in varying}})


def _constant(value: Any) -> Sampler:
    return Sampler(lambda _: value, varies=False)


_SHARED_TEXTS = {"kind": "ConfigMap", "apiVersion": "v1", "protocol": "TCP", "image": "image", "mountPath": "/data"}


def _scalar(type_: Scalar, name: str) -> Sampler:
    kind = type_.kind
    if type_.enum:
        return _constant(type_.enum[0])
    if kind in (ScalarKind.INT32, ScalarKind.INT64):
        return Sampler(lambda index: 1 + index % 60_000)
    if kind is not ScalarKind.STRING:
        return _constant(_CONSTANTS.get(kind, {"type": "string"}))
    if name in _SHARED_TEXTS:
        return _constant(_SHARED_TEXTS[name])
    if "ip" in name.lower().split("_") or name.endswith(("IP", "IPs")) or name == "ip":
        return Sampler(lambda index: f"10.{index // 65536 % 256}.{index // 256 % 256}.{index % 256}")
    if "cidr" in name.lower():
        return Sampler(lambda index: f"10.{index // 256 % 256}.{index % 256}.0/24")
    prefix = name.lower()[:20]
    return Sampler(lambda index: f"{prefix}-{index}")


_CONSTANTS = {
    ScalarKind.NUMBER: 0.5,
    ScalarKind.BOOLEAN: False,
    ScalarKind.BYTES: "YQ==",
    ScalarKind.TIME: _TIME,
    ScalarKind.MICRO_TIME: _TIME.replace("Z", ".000000Z"),
    ScalarKind.DURATION: "1s",
    ScalarKind.QUANTITY: "1",
    ScalarKind.INT_OR_STRING: "1",
    ScalarKind.ANY: {"apiVersion": "v1", "kind": "ConfigMap"},
    ScalarKind.RAW: {"apiVersion": "v1", "kind": "ConfigMap"},
}
