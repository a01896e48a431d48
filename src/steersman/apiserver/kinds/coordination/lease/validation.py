"""Validation of Leases and LeaseCandidates."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field, names
from steersman.apiserver.kinds.shared.validation import check_all, check_not_negative

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree

    _Version = tuple[int, int, int, tuple[tuple[int, int, str], ...]]

OLDEST_EMULATION_VERSION: Final = "OldestEmulationVersion"

_SPEC: Final = field.Path("spec")
_NO_VERSION: Final = "must be a valid semantic version"
_NUMBER: Final = "(?:0|[1-9][0-9]*)"
_WORD: Final = r"[0-9A-Za-z-]+"
_IDENTIFIER: Final = rf"(?:{_NUMBER}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_SEMANTIC_VERSION: Final = re.compile(
    rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})(?:-({_IDENTIFIER}(?:\.{_IDENTIFIER})*))?(?:\+{_WORD}(?:\.{_WORD})*)?",
    re.ASCII,
)
#: Sort key after every pre-release of the same version.
_RELEASE: Final = ((2, 0, ""),)
#: Sort key of absent and invalid versions.
_ZERO: Final = (0, 0, 0, _RELEASE)


def validate_lease(obj: Tree) -> Iterator[FieldError]:
    """Validate a Lease. A missing spec equals an empty one."""
    spec = obj.get("spec") or {}
    duration = spec.get("leaseDurationSeconds")
    if duration is not None and duration <= 0:
        yield field.invalid(_SPEC.child("leaseDurationSeconds"), duration, "must be greater than 0")
    yield from check_not_negative(spec.get("leaseTransitions"), _SPEC.child("leaseTransitions"))
    strategy = spec.get("strategy")
    if strategy is not None:
        yield from _validate_strategy(strategy, _SPEC.child("strategy"))
    if spec.get("preferredHolder") and not strategy:
        yield field.forbidden(_SPEC.child("preferredHolder"), "may only be specified if `strategy` is defined")


def validate_lease_candidate(obj: Tree) -> Iterator[FieldError]:
    """Validate a LeaseCandidate."""
    spec = obj.get("spec") or {}
    if not spec.get("leaseName"):
        yield field.required(_SPEC.child("leaseName"))
    binary_text, emulation_text = spec.get("binaryVersion") or "", spec.get("emulationVersion") or ""
    binary, emulation = _parse_version(binary_text), _parse_version(emulation_text)
    if emulation_text and emulation is None:
        yield field.invalid(_SPEC.child("emulationVersion"), emulation_text, _NO_VERSION)
    if not binary_text:
        yield field.required(_SPEC.child("binaryVersion"))
    elif binary is None:
        yield field.invalid(_SPEC.child("binaryVersion"), binary_text, _NO_VERSION)
    if binary_text and emulation_text and (binary or _ZERO) < (emulation or _ZERO):
        detail = "must be greater than or equal to `emulationVersion`"
        yield field.invalid(_SPEC.child("binaryVersion"), binary_text, detail)
    strategy = spec.get("strategy") or ""
    if strategy == OLDEST_EMULATION_VERSION and (emulation or _ZERO) == _ZERO:
        detail = f"must be specified when `strategy` is '{OLDEST_EMULATION_VERSION}'"
        yield field.required(_SPEC.child("emulationVersion"), detail)
    if not strategy:
        yield field.required(_SPEC.child("strategy"))
    else:
        yield from _validate_strategy(strategy, _SPEC.child("strategy"))


def _validate_strategy(strategy: str, path: Path) -> Iterator[FieldError]:
    """Validate a strategy: a Kubernetes one, or one qualified with a domain."""
    strategy_path = path.child("strategy")
    if "/" in strategy:
        yield from check_all(strategy_path, strategy, names.check_qualified_name(strategy))
    elif strategy != OLDEST_EMULATION_VERSION:
        yield field.not_supported(strategy_path, strategy, (OLDEST_EMULATION_VERSION,))


def _parse_version(text: str) -> _Version | None:
    """Return the sort key of a semantic version (semver.org, section 11); None if it is invalid."""
    match = _SEMANTIC_VERSION.fullmatch(text)
    if match is None:
        return None
    major, minor, patch, pre = match.groups()
    words = (
        tuple((0, int(word), "") if word.isdigit() else (1, 0, word) for word in pre.split(".")) if pre else _RELEASE
    )
    return int(major), int(minor), int(patch), words
