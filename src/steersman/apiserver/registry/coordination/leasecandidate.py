"""LeaseCandidates (KEP-4355)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apiserver.registry import columns
from steersman.apiserver.registry.strategy import Column, Strategy, Tree

if TYPE_CHECKING:
    from datetime import datetime


class LeaseCandidateStrategy(Strategy):
    """Who would like to hold a lease, and how good a choice it is."""

    group_resource = "leasecandidates.coordination.k8s.io"
    allow_create_on_update = True
    allow_unconditional_update = False
    columns = (
        columns.NAME_COLUMN,
        Column("LeaseName"),
        Column("BinaryVersion"),
        Column("EmulationVersion"),
        columns.AGE_COLUMN,
    )

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        spec = obj.get("spec") or {}
        return [
            columns.name_of(obj),
            spec.get("leaseName", ""),
            spec.get("binaryVersion", ""),
            spec.get("emulationVersion", ""),
            columns.age(obj, now),
        ]
