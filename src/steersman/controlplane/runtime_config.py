"""Group versions that are served: ``--runtime-config`` and feature gates of APIs.

Built-in group versions are served by default, beta and alpha versions too, except StorageVersionMigrations. Beta and alpha
versions can be disabled, GA versions cannot.
Upstream: ``k8s.io/apiserver/pkg/server/resourceconfig``.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from steersman.controlplane.options import OptionError
from steersman.schema.resources import table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from steersman.controlplane.options import APIServerOptions
    from steersman.schema.resources import ResourceTable

_FLAG: Final = "--runtime-config"
#: Keys for all group versions of a stage.
_STAGES: Final = ("api/all", "api/ga", "api/beta", "api/alpha")

#: Served only if ``--runtime-config`` enables them.
OFF_BY_DEFAULT: Final = frozenset({"storagemigration.k8s.io/v1beta1"})
#: Maximum number of cached tables, one for each distinct set of options.
_TABLES_MAX: Final = 4
_UNSTABLE: Final = ("alpha", "beta")
#: Group versions whose only resources belong to a feature gate.
_GATED: Final = {"CoordinatedLeaderElection": ("coordination.k8s.io/v1alpha2", "coordination.k8s.io/v1beta1")}


def served_resources(options: APIServerOptions) -> ResourceTable:
    """Return the built-in groups and resources without those that flags disable."""
    config = options.runtime_config
    disabled = set()
    for group in table().groups:
        for version in group.versions:
            name, stage = f"{group.name}/{version.name}", _stage_of(version.name)
            by_default = name not in OFF_BY_DEFAULT
            if stage is not None and not config.get(name, config.get(stage, config.get("api/all", by_default))):
                disabled.add(name)
    for gate, versions in _GATED.items():
        if not options.feature_gates.get(gate, True):
            disabled.update(versions)
    return _table_without(frozenset(disabled)) if disabled else table()


@lru_cache(maxsize=_TABLES_MAX)
def _table_without(disabled: frozenset[str]) -> ResourceTable:
    return table().without_versions(disabled)


def holds_elections(options: APIServerOptions) -> bool:
    """True if the server coordinates leader elections: the gate is on, and LeaseCandidates are served."""
    return served_resources(options).of_kind("coordination.k8s.io", "v1beta1", "LeaseCandidate") is not None


def serves_migrations(options: APIServerOptions) -> bool:
    """True if StorageVersionMigrations are served."""
    group, version = "storagemigration.k8s.io", "v1beta1"
    return served_resources(options).of_kind(group, version, "StorageVersionMigration") is not None


def _stage_of(version: str) -> str | None:
    """Return the key of all versions of the stage of ``v1beta1``; None for a GA version."""
    return next((f"api/{stage}" for stage in _UNSTABLE if stage in version), None)


def check_runtime_config(config: Mapping[str, bool]) -> list[str]:
    """Return warnings to log. Raise ``OptionError`` for unknown groups and versions, and for GA versions."""
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
            [f"{_FLAG}: {key}=true has no effect: Steersman serves all alpha versions that it has"]
            if key == "api/alpha"
            else []
        )
    if key in ("api/alpha", "api/beta"):
        return []
    raise OptionError(f"{_FLAG}: {key}=false: GA versions of built-in APIs cannot be disabled")


def _check_version(key: str, parts: list[str], served: set[str], *, enabled: bool) -> None:
    version = f"{parts[0]}/{parts[1]}"
    if parts[1] not in served:
        if enabled:
            raise OptionError(f"{_FLAG}: {version} is not served, expected {parts[0]}/{'|'.join(sorted(served))}")
    elif len(parts) == 3 and not any(version.name == parts[2] for version in table().of_version(parts[0], parts[1])):
        raise OptionError(f"{_FLAG}: {version} has no resource {parts[2]}")
    elif not enabled and (len(parts) == 3 or _stage_of(parts[1]) is None):
        subject = "single resources" if len(parts) == 3 else "GA versions of built-in APIs"
        raise OptionError(f"{_FLAG}: {key}=false: {subject} cannot be disabled")
