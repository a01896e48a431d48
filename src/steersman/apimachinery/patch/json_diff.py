"""Creation of JSON patches (RFC 6902) from two versions of an object.

Upstream: ``gomodules.xyz/jsonpatch`` as used by controller-runtime's ``admission.PatchResponseFromRaw``.
"""

from __future__ import annotations

from typing import Any

from steersman.apimachinery.trees import Tree, same_tree


def create_json_patch(before: Tree, after: Tree) -> list[dict[str, Any]]:
    """Return operations that turn ``before`` into ``after``; empty if both are the same JSON.

    Only values that differ are named. In lists the common head and tail are left alone; elements between them are compared by
    position. The operations share values with ``after``.
    """
    operations: list[dict[str, Any]] = []
    _compare(before, after, "", operations)
    return operations


def _compare(before: Any, after: Any, path: str, operations: list[dict[str, Any]]) -> None:
    if same_tree(before, after):
        return
    if isinstance(before, dict) and isinstance(after, dict):
        _compare_objects(before, after, path, operations)
    elif isinstance(before, list) and isinstance(after, list):
        _compare_lists(before, after, path, operations)
    else:
        operations.append({"op": "replace", "path": path, "value": after})


def _compare_objects(before: Tree, after: Tree, path: str, operations: list[dict[str, Any]]) -> None:
    operations += [{"op": "remove", "path": _child(path, key)} for key in sorted(before.keys() - after.keys())]
    for key in sorted(after):
        if key in before:
            _compare(before[key], after[key], _child(path, key), operations)
        else:
            operations.append({"op": "add", "path": _child(path, key), "value": after[key]})


def _compare_lists(before: list[Any], after: list[Any], path: str, operations: list[dict[str, Any]]) -> None:
    head, tail = common_ends(before, after)
    end_before, end_after = len(before) - tail, len(after) - tail
    paired = min(end_before, end_after)
    for position in range(head, paired):
        _compare(before[position], after[position], f"{path}/{position}", operations)
    # Removed from the end, so that positions remain valid.
    operations += [{"op": "remove", "path": f"{path}/{position}"} for position in reversed(range(paired, end_before))]
    operations += [
        {"op": "add", "path": f"{path}/{position}", "value": after[position]} for position in range(paired, end_after)
    ]


def common_ends(before: list[Any], after: list[Any]) -> tuple[int, int]:
    """Return how many elements are the same at the beginning of both lists, and at the end of their remainders."""
    shorter = min(len(before), len(after))
    head = 0
    while head < shorter and same_tree(before[head], after[head]):
        head += 1
    tail = 0
    while tail < shorter - head and same_tree(before[-1 - tail], after[-1 - tail]):
        tail += 1
    return head, tail


def _child(path: str, key: str) -> str:
    return f"{path}/{key.replace('~', '~0').replace('/', '~1')}"
