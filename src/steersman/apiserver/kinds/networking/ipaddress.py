"""Strategy of IPAddresses. ``core/service/allocation.py`` writes those of cluster IPs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery import field, names
from steersman.apimachinery.addresses import check_canonical_ip
from steersman.apiserver.generic import columns
from steersman.apiserver.generic.strategy import Column, Strategy
from steersman.apiserver.kinds.networking.shared.references import require_path_segment
from steersman.apiserver.kinds.shared.validation import check_all, check_unchanged

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext

_PARENT: Final = field.Path("spec", "parentRef")


class IPAddressStrategy(Strategy):
    """Strategy of IPAddresses. The name is the canonical address; the parent is usually a Service."""

    group_resource = "ipaddresses.networking.k8s.io"
    metadata_checks_on_update = (1, 1)
    columns = (columns.NAME_COLUMN, Column("ParentRef", field="networking.v1.IPAddressSpec.parentRef"))

    def name_errors(self, name: str, *, prefix: bool = False) -> Sequence[str]:
        return check_canonical_ip(name)

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return list(_validate_parent((obj.get("spec") or {}).get("parentRef")))

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        parent, before = ((tree.get("spec") or {}).get("parentRef") for tree in (obj, old))
        unchanged = check_unchanged(parent, before, _PARENT, go_type="ParentReference")
        return [*_validate_parent(parent), *unchanged]

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        reference: Tree = (obj.get("spec") or {}).get("parentRef") or {}
        group, resource = reference.get("group", ""), reference.get("resource", "")
        parent = f"{resource}.{group}" if group else resource
        names = [reference[part] for part in ("namespace", "name") if reference.get(part)]
        return [columns.name_of(obj), "/".join([parent, *names])]


def _validate_parent(reference: Tree | None) -> Iterator[FieldError]:
    if reference is None:
        yield field.required(_PARENT)
        return
    group, namespace = reference.get("group"), reference.get("namespace")
    if group:
        yield from check_all(_PARENT.child("group"), group, names.check_dns1123_subdomain(group))
    for name in ("resource", "name"):
        yield from require_path_segment(reference.get(name) or "", _PARENT.child(name))
    if namespace:
        yield from check_all(_PARENT.child("namespace"), namespace, names.check_path_segment(namespace))
