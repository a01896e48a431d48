"""IPAddresses: each is one allocated service address."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any

from steersman.apimachinery import field
from steersman.apimachinery.field import Path
from steersman.apiserver.registry import columns
from steersman.apiserver.registry.strategy import Column, Strategy, Tree

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apiserver.request import RequestContext


class IPAddressStrategy(Strategy):
    """Its name is the address in canonical form; its parent is the Service that has it."""

    group_resource = "ipaddresses.networking.k8s.io"
    columns = (columns.NAME_COLUMN, Column("ParentRef"))

    def name_errors(self, name: str, *, prefix: bool = False) -> Sequence[str]:
        del prefix
        try:
            canonical = str(ipaddress.ip_address(name))
        except ValueError:
            return ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]
        return () if canonical == name else [f'must be in canonical form ("{canonical}")']

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        reference = (obj.get("spec") or {}).get("parentRef")
        path = Path("spec", "parentRef")
        if reference is None:
            return [field.required(path)]
        return [field.required(path.child(part)) for part in ("resource", "name") if not reference.get(part)]

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        if obj["spec"].get("parentRef") != old["spec"].get("parentRef"):
            return [field.invalid(Path("spec", "parentRef"), obj["spec"].get("parentRef"), "field is immutable")]
        return self.validate(ctx, obj)

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        reference: Tree = (obj.get("spec") or {}).get("parentRef") or {}
        group, resource = reference.get("group", ""), reference.get("resource", "")
        parent = f"{resource}.{group}" if group else resource
        names = [reference[part] for part in ("namespace", "name") if reference.get(part)]
        return [columns.name_of(obj), "/".join([parent, *names])]
