"""Which standard a namespace asks for, as its labels say: level and version to enforce, to audit and to warn of."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apimachinery.field import Path, invalid

if TYPE_CHECKING:
    from collections.abc import Mapping

    from steersman.apimachinery.field import FieldError

PRIVILEGED: Final = "privileged"
BASELINE: Final = "baseline"
RESTRICTED: Final = "restricted"
LEVELS: Final = (PRIVILEGED, BASELINE, RESTRICTED)
#: Of all versions the newest.
LATEST: Final = 1 << 30

_PREFIX: Final = "pod-security.kubernetes.io/"
_LABELS: Final = Path("metadata", "labels")
_VERSION: Final = re.compile(r"v1\.(0|[1-9][0-9]*)")


class Standard(msgspec.Struct, frozen=True):
    """A level as it was in one minor version."""

    level: str = PRIVILEGED
    version: int = LATEST

    def __str__(self) -> str:
        return f"{self.level}:{'latest' if self.version == LATEST else f'v1.{self.version}'}"


class Policy(msgspec.Struct, frozen=True):
    """What a namespace asks for."""

    enforce: Standard = Standard()
    audit: Standard = Standard()
    warn: Standard = Standard()

    @property
    def asks_nothing(self) -> bool:
        """Everything is allowed, and nobody is told."""
        return self.enforce.level == self.audit.level == self.warn.level == PRIVILEGED

    def __str__(self) -> str:
        modes = {"enforce": self.enforce, "audit": self.audit, "warn": self.warn}
        return ", ".join(f"{mode}={standard}" for mode, standard in modes.items() if standard.level != PRIVILEGED)


_DEFAULTS: Final = Policy()


def default_policy(said: Mapping[str, str]) -> Policy:
    """What a configuration asks for where labels say nothing (``enforce``, ``enforce-version``, …). Raises ValueError."""
    labels: dict[str, str] = {}
    for mode in ("enforce", "audit", "warn"):
        labels[_PREFIX + mode] = said.get(mode) or PRIVILEGED
        labels[f"{_PREFIX}{mode}-version"] = said.get(f"{mode}-version") or "latest"
    policy, errors = policy_of(labels)
    if errors:
        raise ValueError(f"defaults: {errors[0].value!r} {errors[0].detail}")
    return policy


def says_policy(labels: Mapping[str, str] | None) -> bool:
    """Whether there is any label about it."""
    return any(label.startswith(_PREFIX) for label in labels or ())


def policy_of(labels: Mapping[str, str] | None, defaults: Policy = _DEFAULTS) -> tuple[Policy, list[FieldError]]:
    """The policy, and what is wrong with the labels. What cannot be read is enforced strictly and else lets all pass."""
    errors: list[FieldError] = []
    if not labels or not says_policy(labels):
        return defaults, errors
    modes: dict[str, Standard] = {}
    given = {"enforce": defaults.enforce, "audit": defaults.audit, "warn": defaults.warn}
    for mode, fallback in (("enforce", RESTRICTED), ("audit", PRIVILEGED), ("warn", PRIVILEGED)):
        level, version = labels.get(_PREFIX + mode), labels.get(f"{_PREFIX}{mode}-version")
        if level is not None and level not in LEVELS:
            errors.append(invalid(_LABELS.key(_PREFIX + mode), level, f"must be one of {', '.join(LEVELS)}"))
            level = fallback
        minor = given[mode].version if version is None else LATEST
        if version is not None and version != "latest":
            match = _VERSION.fullmatch(version)
            if match is None:
                where = _LABELS.key(f"{_PREFIX}{mode}-version")
                errors.append(invalid(where, version, 'must be "latest" or "v1.x"'))
            else:
                minor = int(match[1])
        modes[mode] = Standard(level or given[mode].level, minor)
    enforce, warn = modes["enforce"], modes["warn"]
    if _PREFIX + "warn" not in labels and labels.get(_PREFIX + "enforce") in LEVELS:
        # who does not say what to warn of is warned of what would be refused
        kept = warn.version if f"{_PREFIX}warn-version" in labels else enforce.version
        if LEVELS.index(enforce.level) > LEVELS.index(warn.level):
            modes["warn"] = Standard(enforce.level, kept)
    return Policy(enforce, modes["audit"], modes["warn"]), errors
