"""Semver library: ``semver('1.2.3').isLessThan(semver('1.3.0'))``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apimachinery.gotext import quote
from steersman.cel.functions import Function, Overload, member
from steersman.cel.standard import tenth
from steersman.cel.types import BOOL, INT, STRING, object_type
from steersman.cel.values import EvalError, Opaque

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SEMVER: Final = object_type("kubernetes.Semver", {})
TYPES: Final = {SEMVER.name: SEMVER}

_DIGITS: Final = re.compile(r"[0-9]*", re.ASCII)
_PLAIN: Final = re.compile(r"[0-9A-Za-z-]*", re.ASCII)
_UINT_MAX: Final = 2**64 - 1


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
    try:
        return parse(text)
    except EvalError:
        return None


def parse(text: str) -> SemverValue:
    """Parse a version. Raises EvalError with the texts of ``semver.Parse`` of github.com/blang/semver."""
    if not text:
        raise EvalError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise EvalError("No Major.Minor.Patch elements found")
    major, minor = _number("major", parts[0]), _number("minor", parts[1])
    rest, plus, build = parts[2].partition("+")
    rest, dash, pre = rest.partition("-")
    patch = _number("patch", rest)
    if dash:
        for part in pre.split("."):
            _check_pre_release(part)
    if plus:
        for part in build.split("."):
            _check_build(part)
    return SemverValue((major, minor, patch), pre)


def _number(name: str, text: str) -> int:
    if not _DIGITS.fullmatch(text):
        raise EvalError(f"Invalid character(s) found in {name} number {quote(text)}")
    if len(text) > 1 and text.startswith("0"):
        raise EvalError(f"{name.capitalize()} number must not contain leading zeroes {quote(text)}")
    return _uint(text)


def _uint(text: str) -> int:
    if not text:
        raise EvalError('strconv.ParseUint: parsing "": invalid syntax')
    if len(text) > 20 or int(text) > _UINT_MAX:
        raise EvalError(f"strconv.ParseUint: parsing {quote(text)}: value out of range")
    return int(text)


def _check_pre_release(text: str) -> None:
    if not text:
        raise EvalError("Prerelease is empty")
    if not _DIGITS.fullmatch(text):
        if not _PLAIN.fullmatch(text):
            raise EvalError(f"Invalid character(s) found in prerelease {quote(text)}")
    elif len(text) > 1 and text.startswith("0"):
        raise EvalError(f"Numeric PreRelease version must not contain leading zeroes {quote(text)}")
    else:
        _uint(text)


def _check_build(text: str) -> None:
    if not text:
        raise EvalError("Build meta data is empty")
    if not _PLAIN.fullmatch(text):
        raise EvalError(f"Invalid character(s) found in build meta data {quote(text)}")


def _normalized(text: str) -> str:
    """Remove a leading ``v`` and leading zeros, and add missing numbers as zero. Raises EvalError."""
    parts = text.removeprefix("v").split(".", 2)
    for place, part in enumerate(parts):
        if len(part) > 1:
            stripped = part.lstrip("0")
            parts[place] = stripped if stripped[:1].isdigit() else f"0{stripped}"
    if len(parts) < 3 and ("+" in parts[-1] or "-" in parts[-1]):
        raise EvalError("short version cannot contain PreRelease/Build meta data")
    return ".".join([*parts, "0", "0"][: max(3, len(parts))])


def _parse(text: str, normalize: bool = False) -> SemverValue:  # noqa: FBT001, FBT002 — CEL calls by position
    return parse(_normalized(text) if normalize else text)


def _is_semver(text: str, normalize: bool = False) -> bool:  # noqa: FBT001, FBT002 — CEL calls by position
    try:
        _parse(text, normalize)
    except EvalError:
        return False
    return True


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
