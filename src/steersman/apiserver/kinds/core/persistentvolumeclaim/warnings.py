"""Warnings about valid PersistentVolumeClaims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.core.shared.storage_class import class_annotation_warnings
from steersman.apiserver.kinds.shared.podspec.warnings import claim_spec_warnings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.trees import Tree

_SPEC: Final = Path("spec")


def claim_warnings(claim: Tree) -> Iterator[str]:
    """Yield the warnings about a PersistentVolumeClaim."""
    yield from class_annotation_warnings(claim)
    yield from claim_spec_warnings(claim.get("spec") or {}, _SPEC)
