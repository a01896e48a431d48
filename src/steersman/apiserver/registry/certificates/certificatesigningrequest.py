"""CertificateSigningRequests."""

from __future__ import annotations

import copy
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from steersman.apiserver.registry import columns
from steersman.apiserver.registry.strategy import Column, Strategy, Tree

if TYPE_CHECKING:
    from datetime import datetime

    from steersman.apiserver.request import RequestContext


class CertificateSigningRequestStrategy(Strategy):
    """Who asks is who makes it, whatever the object says; after that its spec never changes."""

    group_resource = "certificatesigningrequests.certificates.k8s.io"
    namespace_field_label = False
    columns = (
        columns.NAME_COLUMN,
        columns.AGE_COLUMN,
        Column("SignerName"),
        Column("Requestor"),
        Column("RequestedDuration"),
        Column("Condition"),
    )
    field_labels = {"spec.signerName": lambda obj: obj["spec"].get("signerName") or ""}

    def prepare_for_create(self, ctx: RequestContext, obj: Tree) -> None:
        spec = obj.setdefault("spec", {})
        for name in ("username", "uid", "groups", "extra"):
            spec.pop(name, None)
        user = ctx.user
        spec["username"] = user.name
        if user.uid:
            spec["uid"] = user.uid
        if user.groups:
            spec["groups"] = list(user.groups)
        if user.extra:
            spec["extra"] = {key: list(values) for key, values in user.extra.items()}
        self.reset_status(obj)

    def prepare_for_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        """Neither spec nor status change through the main resource, and that is no error."""
        super().prepare_for_update(ctx, obj, old)
        obj["spec"] = copy.deepcopy(old.get("spec", {}))

    def prepare_for_status_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        """The certificate, and conditions other than the approval's, which stay as they are."""
        super().prepare_for_status_update(ctx, obj, old)
        status = obj.setdefault("status", {})
        kept = [c for c in (old.get("status") or {}).get("conditions") or () if c.get("type") in _APPROVAL]
        others = [c for c in status.get("conditions") or () if c.get("type") not in _APPROVAL]
        if kept or others:
            status["conditions"] = kept + others

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        spec = obj.get("spec") or {}
        seconds = spec.get("expirationSeconds")
        duration = columns.NONE if seconds is None else columns.human_duration(timedelta(seconds=seconds))
        return [
            columns.name_of(obj),
            columns.age(obj, now),
            spec.get("signerName") or columns.NONE,
            spec.get("username", ""),
            duration,
            _condition(obj),
        ]


_APPROVAL = ("Approved", "Denied")


def _condition(obj: Tree) -> str:
    status = obj.get("status") or {}
    types = {c.get("type") for c in status.get("conditions") or ()}
    text = "Denied" if "Denied" in types else "Approved" if "Approved" in types else "Pending"
    if "Failed" in types:
        text += ",Failed"
    if status.get("certificate"):
        text += ",Issued"
    return text
