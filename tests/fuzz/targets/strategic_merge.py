"""Strategic merge: raises StatusError only, changes neither operand, and applies what ``create_two_way_merge_patch`` computes."""

from __future__ import annotations

from typing import Any

from tests.fuzz.choices import Choices, json_case

from steersman.apimachinery.codec import DecodeError, encode
from steersman.apimachinery.errors import StatusError
from steersman.apimachinery.trees import copy_tree, same_tree
from steersman.apimachinery.typemodel import ListOf, MapOf, Scalar, Struct
from steersman.schema import decoding
from steersman.schema.loader import struct_for
from steersman.schema.strategic_diff import create_two_way_merge_patch
from steersman.schema.strategic_merge import strategic_merge

TOKENS = (b'"$patch":"delete"', b'"$patch":"replace"', b'"$retainKeys":["a"]', b'"$setElementOrder/containers":[{"name":"a"}]',
          b'"$deleteFromPrimitiveList/finalizers":["a"]', b'"containers":', b'"name":"a"', b'"metadata":', b'"spec":', b"null")  # fmt: skip
KINDS = (
    ("", "v1", "Pod"),
    ("apps", "v1", "Deployment"),
    ("", "v1", "Service"),
    ("", "v1", "ServiceAccount"),
    ("", "v1", "ConfigMap"),
)


def run(data: bytes) -> None:
    names, original, patch = json_case(data, 3, _draw)
    if not _is_kind(names) or not isinstance(original, dict) or not isinstance(patch, dict):
        return
    group, version, kind = names
    try:
        struct = struct_for(group, version, kind)
    except KeyError:
        return
    before, patch_before = copy_tree(original), copy_tree(patch)
    try:
        merged = strategic_merge(original, patch, struct)
    except StatusError:
        merged = None
    assert (original, patch) == (before, patch_before)
    if merged is not None:
        encode(merged)
    try:
        old, new = decoding.decode(struct, original).tree, decoding.decode(struct, patch).tree
    except DecodeError:
        return
    _check_difference(old, new, struct)


def _is_kind(names: Any) -> bool:
    return isinstance(names, list | tuple) and len(names) == 3 and all(isinstance(name, str) for name in names)


def _check_difference(old: dict[str, Any], new: dict[str, Any], struct: Any) -> None:
    """Check that the difference of two decoded objects leads from one to the other, unless a list has ambiguous items."""
    if _is_ambiguous(old, struct) or _is_ambiguous(new, struct):
        return
    patch = create_two_way_merge_patch(old, new, struct)
    merged = strategic_merge(old, patch, struct)
    assert same_tree(decoding.decode(struct, merged).tree, new), (old, new, patch, merged)
    assert create_two_way_merge_patch(new, new, struct) == {}


def _is_ambiguous(value: Any, type_: Any) -> bool:
    if isinstance(type_, Scalar) and b"null" in encode(value):
        return True  # a patch cannot write null
    if isinstance(value, dict):
        if any(key.startswith("$") for key in value):
            return True
        if isinstance(type_, Struct):
            return any(_is_ambiguous_field(type_, key, item) for key, item in value.items())
        below = type_.value if isinstance(type_, MapOf) else None
        return any(_is_ambiguous(item, below) for item in value.values())
    if isinstance(value, list):
        below = type_.item if isinstance(type_, ListOf) else None
        return any(_is_ambiguous(item, below) for item in value)
    return False


def _is_ambiguous_field(struct: Any, key: str, value: Any) -> bool:
    """True if a merged list in the field has items without a merge key, or several of one key."""
    field = struct.fields.get(key)
    if field is None:
        return _is_ambiguous(value, None)
    if isinstance(value, list) and "merge" in field.patch_strategies:
        if field.patch_merge_key:
            ids = [item.get(field.patch_merge_key) if isinstance(item, dict) else None for item in value]
            if None in ids or "" in ids or len({encode(entry) for entry in ids}) < len(ids):
                return True
        elif len({encode(item) for item in value}) < len(value) or None in value:
            return True
    return _is_ambiguous(value, field.type)


def _draw(choices: Choices) -> tuple[Any, ...]:
    kind = choices.pick(KINDS)
    struct = struct_for(*kind)
    original, patch = choices.typed(struct, 7), choices.typed(struct, 7)
    return kind, original if isinstance(original, dict) else {}, _with_directives(choices, patch)


def _with_directives(choices: Choices, value: Any) -> Any:
    """Add directives to objects and lists of a patch."""
    if isinstance(value, list):
        return [_with_directives(choices, item) for item in value]
    if not isinstance(value, dict):
        return value
    tree = {key: _with_directives(choices, item) for key, item in value.items()}
    for key, item in list(tree.items()):
        if isinstance(item, list) and choices.one_in(6):
            tree[f"$setElementOrder/{key}"] = choices.tree(2) if choices.one_in(4) else copy_tree(item)
        if isinstance(item, list) and choices.one_in(8):
            tree[f"$deleteFromPrimitiveList/{key}"] = choices.tree(2)
    if choices.one_in(10):
        tree["$patch"] = choices.pick(("delete", "replace", "merge", "", None, "x", 1))
    if choices.one_in(10):
        tree["$retainKeys"] = list(tree) if choices.one_in(2) else choices.tree(2)
    return tree
