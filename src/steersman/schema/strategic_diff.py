"""Computation of strategic merge patches, as by ``kubectl``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apimachinery.trees import copy_tree, same_tree, tree_key
from steersman.schema.strategic_merge import (
    DELETE_PREFIX,
    DIRECTIVE,
    ORDER_PREFIX,
    RETAIN_KEYS,
    Strategy,
    identity_of,
    strategy_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from steersman.apimachinery.trees import Tree
    from steersman.apimachinery.typemodel import Type


def create_two_way_merge_patch(original: Mapping[str, Any], modified: Mapping[str, Any], type_: Type | None) -> Tree:
    """Return the patch that changes ``original`` to ``modified``; empty if they are equal.

    Items of a merged list must have distinct keys; explicit nulls in ``modified`` count as absent. Upstream:
    ``strategicpatch.CreateTwoWayMergePatch``.
    """
    patch: Tree = {key: None for key in original if modified.get(key) is None}
    for key, value in modified.items():
        if value is None:
            continue
        original_value = original.get(key)
        if type(original_value) is not type(value):
            patch[key] = copy_tree(value)
        elif not same_tree(original_value, value):
            _diff_values(patch, key, original_value, value, strategy_of(type_, key))
    return patch


def _diff_values(patch: Tree, key: str, original: Any, value: Any, strategy: Strategy) -> None:
    if isinstance(value, dict) and strategy.name != "replace":
        patch[key] = create_two_way_merge_patch(original, value, strategy.type)
        if strategy.retain_keys:
            patch[key][RETAIN_KEYS] = list(value)
    elif isinstance(value, list) and strategy.name == "merge" and original:
        _diff_lists(patch, key, original, value, strategy)
    else:
        patch[key] = copy_tree(value)


def _diff_lists(patch: Tree, key: str, original: list[Any], value: list[Any], strategy: Strategy) -> None:
    if strategy.merge_key:
        changes = _diff_items(original, value, strategy)
        patch[f"{ORDER_PREFIX}/{key}"] = [{strategy.merge_key: item[strategy.merge_key]} for item in value]
    else:
        before, after = set(map(tree_key, original)), set(map(tree_key, value))
        changes = [item for item in value if tree_key(item) not in before]
        removed = [item for item in original if tree_key(item) not in after]
        patch[f"{ORDER_PREFIX}/{key}"] = list(value)
        if removed:
            patch[f"{DELETE_PREFIX}/{key}"] = removed
    if changes:
        patch[key] = changes


def _diff_items(original: list[Tree], value: list[Tree], strategy: Strategy) -> list[Tree]:
    merge_key = strategy.merge_key
    identity = identity_of(merge_key)
    stored = {identity(item): item for item in original}
    changes: list[Tree] = []
    for item in value:
        before = stored.pop(identity(item), None)
        if before is None:
            changes.append(copy_tree(item))
        elif not same_tree(before, item):
            change = create_two_way_merge_patch(before, item, strategy.item)
            if strategy.retain_keys:
                change[RETAIN_KEYS] = list(item)
            changes.append({**change, merge_key: item[merge_key]})
    return changes + [{DIRECTIVE: "delete", merge_key: item[merge_key]} for item in stored.values()]
