"""Validation of ``--runtime-config`` (upstream: ``k8s.io/apiserver/pkg/server/resourceconfig``).

Steersman serves all built-in group versions that it has; none can be switched off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.controlplane.options import OptionError
from steersman.schema.resources import table

if TYPE_CHECKING:
    from collections.abc import Mapping

_FLAG: Final = "--runtime-config"
#: Keys for all group versions of a stage.
_STAGES: Final = ("api/all", "api/ga", "api/beta", "api/alpha")


def check_runtime_config(config: Mapping[str, bool]) -> list[str]:
    """Return warnings to log. Raise ``OptionError`` for unknown groups and versions, and for what cannot be switched off."""
    if config == {"api/all": False}:
        raise OptionError(f"{_FLAG}: invalid key with only api/all=false")
    versions = {group.name: {version.name for version in group.versions} for group in table().groups if group.name}
    warnings: list[str] = []
    unknown: list[str] = []
    for key, enabled in config.items():
        parts = key.split("/")
        if key in _STAGES:
            warnings += _check_stage(key, enabled=enabled)
        elif len(parts) not in (2, 3):
            raise OptionError(f"{_FLAG}: runtime-config invalid key {key}")
        elif parts[0] not in versions:
            unknown.append(parts[0])
        else:
            _check_version(key, parts, versions[parts[0]], enabled=enabled)
    if unknown:
        raise OptionError(f"{_FLAG}: unknown api groups {','.join(unknown)}")
    return warnings


def _check_stage(key: str, *, enabled: bool) -> list[str]:
    if enabled:
        return (
            [] if key == "api/ga" else [f"{_FLAG}: {key}=true has no effect: Steersman serves all versions that it has"]
        )
    raise OptionError(f"{_FLAG}: {key}=false: built-in API versions cannot be disabled")


def _check_version(key: str, parts: list[str], served: set[str], *, enabled: bool) -> None:
    version = f"{parts[0]}/{parts[1]}"
    if parts[1] not in served:
        if enabled:
            raise OptionError(f"{_FLAG}: {version} is not served, expected {parts[0]}/{'|'.join(sorted(served))}")
    elif len(parts) == 3 and not any(each.name == parts[2] for each in table().of_version(parts[0], parts[1])):
        raise OptionError(f"{_FLAG}: {version} has no resource {parts[2]}")
    elif not enabled:
        raise OptionError(f"{_FLAG}: {key}=false: built-in APIs cannot be disabled")
