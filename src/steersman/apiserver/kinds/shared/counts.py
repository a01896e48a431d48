"""Rules about numbers that many kinds count by: not negative, not above each other, given as a share."""

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
    """Each of these fields of an object is 0 or more, where it is there."""
    for name in fields:
        yield from check_not_negative(tree.get(name), path.child(name))


def check_none_above(tree: Tree, fields: Iterable[str], path: Path, *, limit: str, detail: str) -> Iterator[FieldError]:
    """None of these fields counts more than ``limit`` does; what is absent counts 0."""
    most = tree.get(limit) or 0
    for name in fields:
        count = tree.get(name) or 0
        if count > most:
            yield field.invalid(path.child(name), count, detail)


def check_not_decremented(new: Tree, old: Tree, name: str, path: Path) -> Iterator[FieldError]:
    """A count that is once there only grows."""
    before = old.get(name)
    count = new.get(name) or 0
    if before is not None and count < before:
        yield field.invalid(path.child(name), count, "cannot be decremented")


def check_count_or_share(value: int | str, path: Path) -> Iterator[FieldError]:
    """``3`` or ``25%``."""
    if isinstance(value, str):
        yield from check_all(path, value, names.check_percent(value))
    else:
        yield from check_not_negative(value, path)


def check_share_is_no_more_than_all(value: int | str, path: Path) -> Iterator[FieldError]:
    """At most 100 %; a plain number may be as high as it likes."""
    if (_share(value) or 0) > 100:
        yield field.invalid(path, value, "must not be greater than 100%")


def is_nothing(value: int | str) -> bool:
    """Whether a number or share comes to 0; a text that is neither does."""
    if isinstance(value, int):
        return value == 0
    share = _share(value)
    if share is not None:
        return share == 0
    return not (value.isascii() and value.removeprefix("-").removeprefix("+").isdigit() and int(value) != 0)


def _share(value: int | str) -> int | None:
    return intstr.percent(value) if isinstance(value, str) and value[:1].isdigit() else None
