"""Validation of the fields that a custom resource's ``scale`` subresource maps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery import field

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree


_REPLICAS_MAX: Final = 2**31 - 1
_GO_TYPES: Final = {
    "bool": "bool",
    "str": "string",
    "float": "float64",
    "int": "int64",
    "list": "[]interface {}",
    "dict": "map[string]interface {}",
}


def validate_scale_spec(scale: Tree | None, obj: Tree) -> Iterator[FieldError]:
    """Yield errors of the spec replicas."""
    if scale is not None:
        yield from _validate_replicas(scale.get("specReplicasPath") or "", obj)


def validate_scale_status(scale: Tree | None, obj: Tree) -> Iterator[FieldError]:
    """Yield errors of the status replicas and the selector."""
    if scale is None:
        return
    yield from _validate_replicas(scale.get("statusReplicasPath") or "", obj)
    path = scale.get("labelSelectorPath")
    if path:
        _, fault = _look_up(path, obj, "str", "string")
        if fault:
            yield field.invalid(path, "", fault)


def _validate_replicas(path: str, obj: Tree) -> Iterator[FieldError]:
    value, fault = _look_up(path, obj, "int", "int64")
    if fault:
        yield field.invalid(path, 0, fault)
    elif value is not None and value < 0:
        yield field.invalid(path, value, "should be a non-negative integer")
    elif value is not None and value > _REPLICAS_MAX:
        yield field.invalid(path, value, f"should be less than or equal to {_REPLICAS_MAX}")


def _look_up(path: str, obj: Tree, kind: str, shown: str) -> tuple[Any, str]:
    """Return the value at a path (None if missing), or the reason why it cannot exist."""
    steps = path.removeprefix(".").split(".")
    value: Any = obj
    for position, step in enumerate(steps):
        if not isinstance(value, dict):
            return None, _misfit(steps[:position], value, "map[string]interface{}")
        if step not in value:
            return None, ""
        value = value[step]
    return (value, "") if type(value).__name__ == kind else (None, _misfit(steps, value, shown))


def _misfit(steps: list[str], value: Any, expected: str) -> str:
    actual = _GO_TYPES.get(type(value).__name__, "<nil>")
    text = "<nil>" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return f".{'.'.join(steps)} accessor error: {text} is of the type {actual}, expected {expected}"
