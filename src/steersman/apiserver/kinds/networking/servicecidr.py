"""Strategy of ServiceCIDRs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery import field
from steersman.apimachinery.addresses import check_canonical_cidr, parse_cidr
from steersman.apiserver.generic import columns
from steersman.apiserver.generic.strategy import Column, Strategy
from steersman.apiserver.kinds.shared.go_form import go_form
from steersman.apiserver.kinds.shared.status_writes import keep_metadata
from steersman.apiserver.kinds.shared.validation import FIELD_IS_IMMUTABLE, check_all

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext


_CIDRS: Final = field.Path("spec", "cidrs")
_ONE_A_FAMILY: Final = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"


class ServiceCIDRStrategy(Strategy):
    """Strategy of ServiceCIDRs: at most one CIDR of each family."""

    group_resource = "servicecidrs.networking.k8s.io"
    columns = (columns.NAME_COLUMN, Column("CIDRs", field="networking.v1.ServiceCIDRSpec.cidrs"), columns.AGE_COLUMN)
    reset_fields = {"": (("status",),), "status": (("metadata",), ("spec",))}

    def prepare_for_status_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        super().prepare_for_status_update(ctx, obj, old)
        keep_metadata(obj, old)

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return list(_validate(_ranges(obj)))

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return list(_validate_change(_ranges(obj), _ranges(old)))

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        return [columns.name_of(obj), ",".join(_ranges(obj)), columns.age(obj, now)]


def _ranges(obj: Tree) -> list[str]:
    return (obj.get("spec") or {}).get("cidrs") or []


def _validate(cidrs: list[str]) -> Iterator[FieldError]:
    if not cidrs:
        yield field.required(_CIDRS, "at least one CIDR required")
        return
    if len(cidrs) > 2:
        yield field.invalid(_CIDRS, go_form("ServiceCIDRSpec", {"cidrs": cidrs}), "may only hold up to 2 values")
        return
    families = {network.version for cidr in cidrs if (network := parse_cidr(cidr)) is not None}
    if len(cidrs) == 2 and len(families) < 2:
        yield field.invalid(_CIDRS, cidrs, _ONE_A_FAMILY)
        return
    for position, cidr in enumerate(cidrs):
        yield from check_all(_CIDRS.index(position), cidr, check_canonical_cidr(cidr))


def _validate_change(cidrs: list[str], before: list[str]) -> Iterator[FieldError]:
    """Validate a change of ``cidrs``: a second family may be added."""
    if len(cidrs) < len(before) or len(cidrs) > 2:
        yield field.invalid(_CIDRS, cidrs, FIELD_IS_IMMUTABLE)
        return
    for position, (cidr, old) in enumerate(zip(cidrs, before, strict=False)):
        if cidr != old:
            yield field.invalid(_CIDRS.index(position), cidr, FIELD_IS_IMMUTABLE)
    if len(cidrs) > len(before):
        yield from _validate(cidrs)
