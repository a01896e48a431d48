"""Owners of ``replicas`` in the scale subresource. Upstream: ``scalehandler.go``.

A Scale has its own version, with its replicas at ``spec.replicas``; the parent has them elsewhere. Owners of the
parent's replicas own those of the Scale.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.managedfields import entries
from steersman.apimachinery.managedfields.entries import APPLY, Managed, Owned
from steersman.apimachinery.managedfields.fieldset import Node, Path, difference, has, of

if TYPE_CHECKING:
    from collections.abc import Mapping

SCALE_VERSION: Final = "autoscaling/v1"
_REPLICAS: Final[Path] = ("f:spec", "f:replicas")


def entries_for_scale(parent: list[dict[str, Any]] | None, replicas_paths: Mapping[str, Path]) -> list[dict[str, Any]]:
    """Return the managedFields of a Scale: the owners of the parent's replicas."""
    managed: Managed = {}
    for owner, owned in entries.read(parent).items():
        path = _elements(replicas_paths.get(owned.api_version, ()))
        if has(owned.fields, path):
            scale_owner = owner if owner.operation == APPLY else owner._replace(api_version=SCALE_VERSION)
            managed[scale_owner] = Owned(_set(_REPLICAS), SCALE_VERSION, owned.time)
    return entries.write(managed)


def entries_for_parent(
    parent: list[dict[str, Any]] | None,
    scale: list[dict[str, Any]] | None,
    *,
    api_version: str,
    replicas_paths: Mapping[str, Path],
) -> list[dict[str, Any]]:
    """Return the parent's managedFields after a write of its Scale. ``api_version`` is the parent's.

    A new owner of the replicas has no time, as upstream.
    """
    managed: Managed = {}
    scalers = entries.read(scale)
    for owner, owned in entries.read(parent).items():
        if owned.api_version not in replicas_paths:
            continue
        path = _elements(replicas_paths[owned.api_version])
        scaler = owner if owner.operation == APPLY else owner._replace(api_version=SCALE_VERSION)
        if not has(owned.fields, path) or scalers.pop(scaler, None) is not None:
            managed[owner] = owned
        else:
            remaining = difference(owned.fields, _set(path))
            if remaining:
                managed[owner] = Owned(remaining, owned.api_version, owned.time)
    for scaler, owned in scalers.items():
        if has(owned.fields, _REPLICAS):
            owner = scaler if scaler.operation == APPLY else scaler._replace(api_version=api_version)
            managed[owner] = Owned(_set(_elements(replicas_paths[api_version])), api_version, "")
    return entries.write(managed)


def _elements(path: Path) -> Path:
    return tuple(f"f:{name}" for name in path)


def _set(path: Path) -> Node:
    return of((path,))
