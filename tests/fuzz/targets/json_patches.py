"""JSON patch and JSON merge patch: raise StatusError only, change no operand; results can be written."""

from __future__ import annotations

from typing import Any

from tests.fuzz.choices import KEYS, Choices, json_case

from steersman.apimachinery.codec import decode_json, encode
from steersman.apimachinery.errors import StatusError
from steersman.apimachinery.patch.json_patch import apply_json_patch, parse_json_patch
from steersman.apimachinery.patch.merge_patch import apply_merge_patch
from steersman.apimachinery.trees import copy_tree

TOKENS = (
    b'"op":"add"',
    b'"op":"copy"',
    b'"op":"move"',
    b'"op":"test"',
    b'"path":"/a/-"',
    b'"from":"/a"',
    b'"value":',
    b"~1",
    b"~0",
    b"/-1",
)
OPERATIONS = ("add", "remove", "replace", "move", "copy", "test", "x", None)


def run(data: bytes) -> None:
    original, operations, patch = json_case(data, 3, _draw)
    original_before, patch_before = copy_tree(original), copy_tree(patch)
    if isinstance(original, dict) and isinstance(patch, dict):
        merged = apply_merge_patch(original, patch)
        encode(merged)
        assert apply_merge_patch(merged, patch) == merged
    try:
        parsed = parse_json_patch(encode(operations))
        result = apply_json_patch(original, parsed.operations)
    except StatusError:
        result = None
    assert (original, patch) == (original_before, patch_before)
    assert decode_json(encode(result)) == result


def _draw(choices: Choices) -> tuple[Any, ...]:
    original = choices.object(5)
    operations = [draw_operation(choices) for _ in range(choices.below(8))]
    return original, operations, choices.object(5)


def draw_operation(choices: Choices) -> Any:
    """Return an operation, one in sixteen any value."""
    if choices.one_in(16):
        return choices.tree(2)
    operation = {"op": choices.pick(OPERATIONS), "path": _pointer(choices), "value": choices.tree(3)}
    if choices.one_in(2):
        operation["from"] = _pointer(choices)
    if choices.one_in(8):
        operation.pop(choices.pick(("op", "path", "value")))
    return operation


def _pointer(choices: Choices) -> Any:
    if choices.one_in(16):
        return choices.scalar()
    parts = (*KEYS, "-", "0", "1", "-1", "+1", "01", "a~1b", "a~0b", "a~", "9" * 20)
    return "".join(f"/{choices.pick(parts)}" for _ in range(choices.below(4)))
