"""Changes of a struct, carried over to the object that it was decoded from.

A struct knows only the fields that its class declares, and encodes defaults that the object does not have. A patch between the
object and the encoded struct would remove the former and add the latter.

Upstream: ``dropSchemeRemovals`` of controller-runtime's ``pkg/webhook/admission/defaulter_custom.go``, which keeps unknown fields.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from steersman.apimachinery.patch.json_diff import common_ends
from steersman.apimachinery.trees import same_tree, tree_key


def carry_changes(stored: Any, before: Any, after: Any) -> Any:
    """Return ``stored`` with the changes between two encodings of its struct, one ``before`` and one ``after`` them.

    The result shares values with its arguments.
    """
    if same_tree(before, after):
        return stored
    if isinstance(stored, dict) and isinstance(before, dict) and isinstance(after, dict):
        return _carry_fields(stored, before, after)
    if isinstance(stored, list) and isinstance(before, list) and isinstance(after, list) and len(stored) == len(before):
        return _carry_elements(stored, before, after)
    return after


def _carry_fields(stored: dict[str, Any], before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    result = {key: value for key, value in stored.items() if key in after or key not in before}
    for key, value in after.items():
        if key not in before:
            result[key] = value
        elif not same_tree(before[key], value):
            result[key] = carry_changes(stored.get(key), before[key], value)
    return result


def _carry_elements(stored: list[Any], before: list[Any], after: list[Any]) -> list[Any]:
    """Return the list after its changes.

    An element descends from one that is the same, or else from one of the same ``name``, or else, if the number of elements is
    unchanged, from the one at its position. Any other is new.
    """
    head, tail = common_ends(before, after)
    origins = _origins(before[head : len(before) - tail], after[head : len(after) - tail])
    middle = [
        element if origin is None else carry_changes(stored[head + origin], before[head + origin], element)
        for element, origin in zip(after[head : len(after) - tail], origins, strict=True)
    ]
    return [*stored[:head], *middle, *stored[len(stored) - tail :]]


def _origins(before: list[Any], after: list[Any]) -> list[int | None]:
    """Return for each element of ``after`` the position of the one in ``before`` that it descends from."""
    origins: list[int | None] = [None] * len(after)
    unused = dict.fromkeys(range(len(before)))
    for key_of in (tree_key, _name_key):
        positions: defaultdict[bytes, list[int]] = defaultdict(list)
        for position in reversed(unused):
            if key := key_of(before[position]):
                positions[key].append(position)
        for index, element in enumerate(after):
            if origins[index] is None and (candidates := positions.get(key_of(element))):
                origins[index] = position = candidates.pop()
                unused.pop(position)
    if len(before) == len(after):
        for index, origin in enumerate(origins):
            if origin is None and index in unused:
                origins[index] = index
    return origins


def _name_key(element: Any) -> bytes:
    """Return a key for elements of the same name; empty without a name."""
    name = element.get("name") if isinstance(element, dict) else None
    return tree_key(name) if name else b""
