"""Pod Security policies of namespaces: level and version for the modes enforce, audit and warn.

Upstream: ``api/helpers.go``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from steersman.apimachinery.field import Path, invalid

if TYPE_CHECKING:
    from collections.abc import Mapping

    from steersman.apimachinery.field import FieldError

PRIVILEGED: Final = "privileged"
BASELINE: Final = "baseline"
RESTRICTED: Final = "restricted"
LEVELS: Final = (PRIVILEGED, BASELINE, RESTRICTED)
#: Greater than every version.
LATEST: Final = 1 << 30

_PREFIX: Final = "pod-security.kubernetes.io/"
_LABELS: Final = Path("metadata", "labels")
_VERSION: Final = re.compile(r"v1\.(0|[1-9][0-9]*)")


class Standard(NamedTuple):
    """Level at a minor version."""

    level: str = PRIVILEGED
    version: int = LATEST

    def __str__(self) -> str:
        return f"{self.level}:{'latest' if self.version == LATEST else f'v1.{self.version}'}"


class Policy(msgspec.Struct, frozen=True):
    """Standards of a namespace by mode."""

    enforce: Standard = Standard()
    audit: Standard = Standard()
    warn: Standard = Standard()

    @property
    def is_privileged(self) -> bool:
        """Report whether all modes are privileged."""
        return self.enforce.level == self.audit.level == self.warn.level == PRIVILEGED

    def __str__(self) -> str:
        modes = {"enforce": self.enforce, "audit": self.audit, "warn": self.warn}
        return ", ".join(f"{mode}={standard}" for mode, standard in modes.items() if standard.level != PRIVILEGED)


_DEFAULTS: Final = Policy()


def default_policy(configured: Mapping[str, str]) -> Policy:
    """Return the policy of configured defaults (``enforce``, ``enforce-version``, …). Raises ValueError."""
    labels: dict[str, str] = {}
    for mode in ("enforce", "audit", "warn"):
        labels[_PREFIX + mode] = configured.get(mode) or PRIVILEGED
        labels[f"{_PREFIX}{mode}-version"] = configured.get(f"{mode}-version") or "latest"
    policy, errors = policy_of(labels)
    if errors:
        raise ValueError(f"defaults: {errors[0].value!r} {errors[0].detail}")
    return policy


def has_policy_labels(labels: Mapping[str, str] | None) -> bool:
    """Report whether any Pod Security label is present."""
    return any(label.startswith(_PREFIX) for label in labels or ())


def policy_of(labels: Mapping[str, str] | None, defaults: Policy = _DEFAULTS) -> tuple[Policy, list[FieldError]]:
    """Return the policy and the errors of its labels.

    An invalid ``enforce`` means restricted; invalid other modes mean privileged.
    """
    errors: list[FieldError] = []
    if not labels or not has_policy_labels(labels):
        return defaults, errors
    modes: dict[str, Standard] = {}
    standards = {"enforce": defaults.enforce, "audit": defaults.audit, "warn": defaults.warn}
    for mode, fallback in (("enforce", RESTRICTED), ("audit", PRIVILEGED), ("warn", PRIVILEGED)):
        level, version = labels.get(_PREFIX + mode), labels.get(f"{_PREFIX}{mode}-version")
        if level is not None and level not in LEVELS:
            errors.append(invalid(_LABELS.key(_PREFIX + mode), level, f"must be one of {', '.join(LEVELS)}"))
            level = fallback
        minor = standards[mode].version if version is None else LATEST
        if version is not None and version != "latest":
            match = _VERSION.fullmatch(version)
            if match is None:
                key_path = _LABELS.key(f"{_PREFIX}{mode}-version")
                errors.append(invalid(key_path, version, 'must be "latest" or "v1.x"'))
            else:
                minor = int(match[1])
        modes[mode] = Standard(level or standards[mode].level, minor)
    enforce, warn = modes["enforce"], modes["warn"]
    if _PREFIX + "warn" not in labels and labels.get(_PREFIX + "enforce") in LEVELS:
        # without ``warn`` label, the enforced level warns
        version_to_warn = warn.version if f"{_PREFIX}warn-version" in labels else enforce.version
        if LEVELS.index(enforce.level) > LEVELS.index(warn.level):
            modes["warn"] = Standard(enforce.level, version_to_warn)
    return Policy(enforce, modes["audit"], modes["warn"]), errors
