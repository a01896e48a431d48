"""Validation of device capacities and their sharing policies (KEP-5075)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field
from steersman.apimachinery.quantity import Quantity, parse
from steersman.apiserver.kinds.resource.shared.device_rules import check_set

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree

_VALUES_MAX: Final = 10


def check_capacity(capacity: Tree, path: Path, *, shared: bool) -> Iterator[FieldError]:
    """Validate a capacity and the request policy of a shared device."""
    policy, request_policy_path = capacity.get("requestPolicy"), path.child("requestPolicy")
    if policy is None:
        return
    if not shared:
        yield field.forbidden(request_policy_path, "allowMultipleAllocations must be true")
        return
    most, default = parse(capacity.get("value") or "0"), policy.get("default")
    values, bounds = policy.get("validValues"), policy.get("validRange")
    if values and bounds is not None:
        detail = 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time'
        yield field.forbidden(request_policy_path, detail)
    elif values or bounds is not None:
        kind = "validValues" if values else "validRange"
        if default is None:
            yield field.required(request_policy_path.child("default"), f"required when {kind} is defined")
        elif values:
            yield from _check_values(values, parse(default), most, request_policy_path.child(kind))
        else:
            yield from _check_range(bounds or {}, parse(default), most, request_policy_path.child(kind))


def _check_values(values: Sequence[str], default: Quantity, most: Quantity, path: Path) -> Iterator[FieldError]:
    amounts = [parse(value) for value in values]
    for position in range(1, len(amounts)):
        if amounts[position - 1] > amounts[position]:
            yield field.invalid(path.index(position), values[position], "values must be sorted in ascending order")

    def check_value(value: str, value_path: Path) -> Iterator[FieldError]:
        if parse(value) > most:
            yield field.invalid(value_path, value, f"option is larger than capacity value: {most}")

    yield from check_set(values, path, check_value, key=lambda value: str(int(parse(value))), max_items=_VALUES_MAX)
    if default not in amounts or len(amounts) > _VALUES_MAX:  # as upstream, which then compares none
        yield field.invalid(path, str(default), "default value is not valid according to the requestPolicy")


def _check_range(bounds: Tree, default: Quantity, most: Quantity, path: Path) -> Iterator[FieldError]:
    if bounds.get("min") is None:
        yield field.required(path.child("min"), "required when validRange is defined")
        return
    low = parse(bounds["min"])
    high = parse(bounds["max"]) if bounds.get("max") is not None else None
    if low > most:
        yield field.invalid(path.child("min"), str(low), f"min is larger than capacity value: {most}")
    if default < low:
        yield field.invalid(path.child("min"), str(default), f"default is less than min: {low}")
    if high is not None:
        max_path = path.child("max")
        if low > high:
            yield field.invalid(max_path, str(low), f"min is larger than max: {high}")
        if high > most:
            yield field.invalid(max_path, str(high), f"max is larger than capacity value: {most}")
        if default > high:
            yield field.invalid(max_path, str(default), f"default is more than max: {high}")
    if bounds.get("step") is not None:
        yield from _check_step(parse(bounds["step"]), low, (default, high), most, path.child("step"))


def _check_step(
    step: Quantity, low: Quantity, values: tuple[Quantity, Quantity | None], most: Quantity, path: Path
) -> Iterator[FieldError]:
    first = low + step
    if first > most:
        yield field.invalid(path, str(step), f"one step {first} is larger than capacity value: {most}")
    for value in values:
        if value is not None and int(step) and (int(value) - int(low)) % int(step):
            detail = f"value is not a multiple of a given step ({step}) from ({low})"
            yield field.invalid(path, str(value), detail)
