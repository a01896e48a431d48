"""Copies and comparison of decoded objects (trees)."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from steersman.apimachinery.workmeter import spend_bytes

#: A decoded JSON object.
Tree = dict[str, Any]

_pack: Final = msgspec.msgpack.Encoder().encode
_sorted_json: Final = msgspec.json.Encoder(order="sorted").encode
_unpack: Final = msgspec.msgpack.Decoder().decode


def copy_tree(tree: Any) -> Any:
    """Return a copy that shares no dict or list with ``tree``."""
    try:
        packed = _pack(tree)  # and unpacking it is twice as fast as walking the tree here
        copy = _unpack(packed)
    except (OverflowError, TypeError, ValueError):  # integers beyond 64 bits, numbers that keep their text
        return _copy(tree)
    spend_bytes(len(packed))
    return copy


def _copy(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _copy(value) for key, value in node.items()}
    return [_copy(item) for item in node] if isinstance(node, list) else node


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
