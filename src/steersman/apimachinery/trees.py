"""Copies and comparison of decoded objects (trees)."""

from __future__ import annotations

from itertools import islice
from typing import Any, Final

import msgspec

from steersman.apimachinery.workmeter import spend_bytes

#: A decoded JSON object.
Tree = dict[str, Any]

_pack: Final = msgspec.msgpack.Encoder().encode
_sorted_json: Final = msgspec.json.Encoder(order="sorted").encode
_unpack: Final = msgspec.msgpack.Decoder().decode


#: Unpacking this many bytes takes up to 4 ms, in one call that holds the interpreter lock; larger trees are copied in parts,
#: of at most so many members, down to this depth.
_PART_BYTES: Final = 192 * 1024
_PART_MEMBERS: Final = 4096
_PART_DEPTH_MAX: Final = 8


def copy_tree(tree: Any) -> Any:
    """Return a copy that shares no dict or list with ``tree``."""
    return _copy_packed(tree, 0)


def _copy_packed(tree: Any, depth: int) -> Any:
    try:
        packed = _pack(tree)  # and unpacking it is twice as fast as walking the tree here
        is_large = len(packed) > _PART_BYTES and depth < _PART_DEPTH_MAX
        copy = None if is_large else _unpack(packed)
    except (OverflowError, TypeError, ValueError):  # integers beyond 64 bits, numbers that keep their text
        return _copy(tree)
    if not is_large:
        spend_bytes(len(packed), is_part=depth > 0)
    return _copy_in_parts(tree, depth + 1) if is_large else copy


def _copy_in_parts(tree: Any, depth: int) -> Any:
    if isinstance(tree, dict):
        if len(tree) <= _PART_MEMBERS:
            return {key: _copy_packed(value, depth) for key, value in tree.items()}
        copies: dict[str, Any] = {}
        members = iter(tree.items())
        while part := dict(islice(members, _PART_MEMBERS)):
            copies.update(_copy_packed(part, depth))
        return copies
    if not isinstance(tree, list):
        return tree
    if len(tree) <= _PART_MEMBERS:
        return [_copy_packed(item, depth) for item in tree]
    items: list[Any] = []
    for start in range(0, len(tree), _PART_MEMBERS):
        items += _copy_packed(tree[start : start + _PART_MEMBERS], depth)
    return items


def _copy(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _copy(value) for key, value in node.items()}
    return [_copy(item) for item in node] if isinstance(node, list) else node


def in_key_order(tree: Any) -> Any:
    """Return a copy whose objects have sorted keys, as Go writes maps."""
    if isinstance(tree, dict):
        return {key: in_key_order(tree[key]) for key in sorted(tree)}
    return [in_key_order(item) for item in tree] if isinstance(tree, list) else tree


def tree_key(tree: Any) -> bytes:
    """Return a key that is equal for trees that are the same JSON, whatever the order of their keys."""
    return _sorted_json(tree)


def same_tree(left: Any, right: Any) -> bool:
    """Report whether two trees are the same JSON: unlike for ``==``, ``1``, ``1.0`` and ``true`` differ."""
    if left != right:
        return False
    if isinstance(left, dict):
        return all(same_tree(value, right[key]) for key, value in left.items())
    if isinstance(left, list):
        return all(map(same_tree, left, right))
    return type(left) is type(right)
