"""Validation of counters and ``IntOrString`` values: not negative, not above another counter, percentages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field, intstr, names
from steersman.apiserver.kinds.shared.validation import check_all, check_not_negative

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree

ABOVE_REPLICAS: Final = "cannot be greater than status.replicas"


def check_none_negative(tree: Tree, fields: Iterable[str], path: Path) -> Iterator[FieldError]:
    """Reject negative values of the fields; absent ones are skipped."""
    for name in fields:
        yield from check_not_negative(tree.get(name), path.child(name))


def check_none_above(tree: Tree, fields: Iterable[str], path: Path, *, limit: str, detail: str) -> Iterator[FieldError]:
    """Reject fields greater than field ``limit``; absent fields count as 0."""
    most = tree.get(limit) or 0
    for name in fields:
        count = tree.get(name) or 0
        if count > most:
            yield field.invalid(path.child(name), count, detail)


def check_not_decremented(new: Tree, old: Tree, name: str, path: Path) -> Iterator[FieldError]:
    """Reject a decrease or removal of a counter."""
    before = old.get(name)
    count = new.get(name) or 0
    if before is not None and count < before:
        yield field.invalid(path.child(name), count, "cannot be decremented")


def check_int_or_percent(value: int | str, path: Path) -> Iterator[FieldError]:
    """Validate an ``IntOrString``, for example ``3`` or ``25%``."""
    if isinstance(value, str):
        yield from check_all(path, value, names.check_percent(value))
    else:
        yield from check_not_negative(value, path)


def check_at_most_100_percent(value: int | str, path: Path) -> Iterator[FieldError]:
    """Reject percentages above 100%; integers have no upper bound."""
    if (_percent(value) or 0) > 100:
        yield field.invalid(path, value, "must not be greater than 100%")


def is_zero(value: int | str) -> bool:
    """Report whether an ``IntOrString`` is 0 or ``0%``. True for strings that are neither."""
    if isinstance(value, int):
        return value == 0
    share = _percent(value)
    if share is not None:
        return share == 0
    return not (value.isascii() and value.removeprefix("-").removeprefix("+").isdigit() and int(value) != 0)


def _percent(value: int | str) -> int | None:
    return intstr.percent(value) if isinstance(value, str) and value[:1].isdigit() else None
