"""Compilation of CEL device selectors during validation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apimachinery import field
from steersman.cel.loading import load

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.field import FieldError, Path


def check_selector(expression: str, path: Path) -> Iterator[FieldError]:
    """Validate that a selector compiles to a boolean and its estimated cost is within the limit."""
    load()
    from steersman.cel.cost_estimate import estimate_cost  # noqa: PLC0415 — loaded with the first expression
    from steersman.cel.devices import COST_LIMIT, SelectorError, compile_selector  # noqa: PLC0415 — as above

    try:
        program = compile_selector(expression)
    except SelectorError as error:
        yield field.internal(path, str(error)) if error.is_internal else field.invalid(path, expression, str(error))
        return
    if estimate_cost(program.tree) > COST_LIMIT:
        yield field.forbidden(path, "too complex, exceeds cost limit")
