"""JSON merge patch (RFC 7386): objects merge, null removes, anything else replaces."""

from __future__ import annotations

from typing import Any

from steersman.apimachinery import codec, errors
from steersman.apimachinery.codec import DecodeError
from steersman.apimachinery.envelope import json_type
from steersman.apimachinery.trees import copy_tree


def parse_merge_patch(raw: bytes) -> dict[str, Any]:
    """Decode the patch of a request body. Raises 400 if it is not a JSON object."""
    try:
        tree = codec.decode_json(raw)
    except DecodeError as error:
        raise errors.bad_request(f"error decoding patch: {error}") from None
    if tree is None:
        raise errors.bad_request("Invalid JSON Patch")
    if not isinstance(tree, dict):
        into = "Go value of type map[string]interface {}"
        raise errors.bad_request(f"error decoding patch: json: cannot unmarshal {json_type(tree)} into {into}")
    return tree


def apply_merge_patch(tree: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """Return the patched tree."""
    result: dict[str, Any] = copy_tree(tree)
    _merge(result, patch)
    return result


def _merge(target: dict[str, Any], patch: dict[str, Any]) -> None:
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
        elif isinstance(value, dict) and isinstance(target.get(key), dict):
            _merge(target[key], value)
        else:
            target[key] = _without_nulls(value)


def _without_nulls(value: Any) -> Any:
    """Copy a value without null members of objects, which remove nothing."""
    if isinstance(value, dict):
        return {key: _without_nulls(member) for key, member in value.items() if member is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value
