"""Strategy of LeaseCandidates (KEP-4355)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apimachinery import names
from steersman.apimachinery.field import Path
from steersman.apiserver.generic import columns
from steersman.apiserver.generic.strategy import Column, Strategy
from steersman.apiserver.kinds.coordination.lease.validation import validate_lease_candidate
from steersman.apiserver.kinds.shared.validation import check_unchanged

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext


class LeaseCandidateStrategy(Strategy):
    """Strategy of LeaseCandidates."""

    group_resource = "leasecandidates.coordination.k8s.io"
    allow_create_on_update = True
    allow_unconditional_update = False
    finalizers_need_domains = False
    columns = (
        columns.NAME_COLUMN,
        Column("LeaseName", field="coordination.v1alpha2.LeaseCandidateSpec.leaseName"),
        Column("BinaryVersion"),
        Column("EmulationVersion"),
        columns.AGE_COLUMN,
    )

    def name_errors(self, name: str, *, prefix: bool = False) -> Sequence[str]:
        """Validate the name by the rules of ConfigMap keys; as prefix, it may end with a dash."""
        return names.check_config_map_key(name)

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return list(validate_lease_candidate(obj))

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        name, before = ((tree.get("spec") or {}).get("leaseName") for tree in (obj, old))
        return [*validate_lease_candidate(obj), *check_unchanged(name, before, Path("spec", "leaseName"))]

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        spec = obj.get("spec") or {}
        return [
            columns.name_of(obj),
            spec.get("leaseName", ""),
            spec.get("binaryVersion", ""),
            spec.get("emulationVersion", ""),
            columns.age(obj, now),
        ]
