"""Semver library: ``semver('1.2.3').isLessThan(semver('1.3.0'))``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.cel.functions import Function, Overload, member
from steersman.cel.standard import tenth
from steersman.cel.types import BOOL, INT, STRING, object_type
from steersman.cel.values import EvalError, Opaque

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SEMVER: Final = object_type("kubernetes.Semver", {})
TYPES: Final = {SEMVER.name: SEMVER}

_NUMBER: Final = "(?:0|[1-9][0-9]*)"
_PART: Final = f"(?:{_NUMBER}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_VERSION: Final = re.compile(
    rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})(?:-({_PART}(?:\.{_PART})*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?"
)


class SemverValue(Opaque):
    """A semantic version; build metadata does not affect the order."""

    type_name: ClassVar[str] = SEMVER.name
    __slots__ = ("core", "order")

    def __init__(self, core: tuple[int, int, int], pre: str) -> None:
        self.core: Final = core
        parts = tuple((0, int(p), "") if p.isdigit() else (1, 0, p) for p in pre.split(".") if p)
        #: Pre-releases sort before their release.
        self.order: Final = (core, not parts, parts)

    @property
    def key(self) -> Any:
        return self.order


def read(text: str) -> SemverValue | None:
    """Parse a version; None if it is invalid."""
    match = _VERSION.fullmatch(text)
    if match is None:
        return None
    return SemverValue((int(match[1]), int(match[2]), int(match[3])), match[4] or "")


def _normalized(text: str) -> str:
    """Remove a leading ``v`` and leading zeros, and add missing numbers as zero."""
    text = text.removeprefix("v")
    core = re.match(r"[0-9.]*", text)
    head = core[0] if core else ""
    numbers = [part.lstrip("0") or "0" for part in head.split(".")]
    numbers += ["0"] * (3 - len(numbers))
    return ".".join(numbers) + text[len(head) :]


def _parse(text: str, normalize: bool = False) -> SemverValue:  # noqa: FBT001, FBT002 — CEL calls by position
    version = read(_normalized(text) if normalize else text)
    if version is None:
        raise EvalError(f"semver parse error: {_parse_error(text)}")
    return version


def _parse_error(text: str) -> str:
    if not text:
        return "Version string empty"
    if text.count(".") < 2:
        return "No Major.Minor.Patch elements found"
    return f"Invalid character(s) found in version {text!r}".replace("'", '"')


def _is_semver(text: str, normalize: bool = False) -> bool:  # noqa: FBT001, FBT002 — CEL calls by position
    return read(_normalized(text) if normalize else text) is not None


def _compare(one: SemverValue, other: SemverValue) -> int:
    return (one.order > other.order) - (one.order < other.order)


def _walk(args: Sequence[Any], _: Any) -> int:
    return tenth(len(args[0]))


def functions() -> Iterator[Function]:
    """Return the functions of the library."""
    one, two = (SEMVER,), (SEMVER, SEMVER)
    yield Function(
        "semver",
        [
            Overload("string_to_semver", (STRING,), SEMVER, _parse),
            Overload("string_bool_to_semver", (STRING, BOOL), SEMVER, _parse),
        ],
        cost=_walk,
    )
    yield Function(
        "isSemver",
        [
            Overload("is_semver_string", (STRING,), BOOL, _is_semver),
            Overload("is_semver_string_bool", (STRING, BOOL), BOOL, _is_semver),
        ],
        cost=_walk,
    )
    yield Function("isGreaterThan", [member("semver_is_greater_than", two, BOOL, lambda a, b: _compare(a, b) > 0)])
    yield Function("isLessThan", [member("semver_is_less_than", two, BOOL, lambda a, b: _compare(a, b) < 0)])
    yield Function("compareTo", [member("semver_compare_to", two, INT, _compare)])
    for place, name in enumerate(("major", "minor", "patch")):
        yield Function(name, [member(f"semver_{name}", one, INT, lambda value, place=place: value.core[place])])
