"""Strategy of CertificateSigningRequests."""

from __future__ import annotations

import copy
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from steersman.apimachinery import names
from steersman.apimachinery.timestamps import format_time
from steersman.apiserver.generic import columns
from steersman.apiserver.generic.strategy import Column, Strategy, UpdateHooks
from steersman.apiserver.kinds.certificates.certificatesigningrequest.validation import (
    APPROVAL,
    validate_request,
    validate_request_update,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext


class CertificateSigningRequestStrategy(Strategy):
    """Strategy of CertificateSigningRequests. The user fields come from the request; the spec is immutable."""

    group_resource = "certificatesigningrequests.certificates.k8s.io"
    namespace_field_label = False
    has_managed_fields = False
    metadata_checks_on_update = metadata_checks_on_status_update = (1, 1)
    reset_fields = {
        "": (("spec",), ("status",)),
        "status": (("spec",), ("status", "conditions")),
        "approval": (("spec",), ("status", "certificate")),
    }
    columns = (
        columns.NAME_COLUMN,
        columns.AGE_COLUMN,
        Column("SignerName", field="certificates.v1.CertificateSigningRequestSpec.signerName"),
        Column("Requestor", field="certificates.v1.CertificateSigningRequestSpec.request"),
        Column("RequestedDuration", field="certificates.v1.CertificateSigningRequestSpec.expirationSeconds"),
        Column("Condition", field="certificates.v1.CertificateSigningRequestStatus.conditions"),
    )
    field_labels = {"spec.signerName": lambda obj: obj["spec"].get("signerName") or ""}

    def update_hooks(self) -> Mapping[str, UpdateHooks]:
        return {
            **super().update_hooks(),
            "approval": UpdateHooks(
                self.prepare_for_approval, self.validate_approval, metadata_checks=self.metadata_checks_on_status_update
            ),
        }

    def prepare_for_create(self, ctx: RequestContext, obj: Tree) -> None:
        spec = obj.setdefault("spec", {})
        for name in ("username", "uid", "groups", "extra"):
            spec.pop(name, None)
        spec |= {"username": "", **ctx.user.tree()}
        self.reset_status(obj)

    def prepare_for_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        """Ignore changes of spec and status through the main resource."""
        super().prepare_for_update(ctx, obj, old)
        obj["spec"] = copy.deepcopy(old.get("spec", {}))

    def prepare_for_status_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        """Keep approval conditions unchanged; validation rejects added or removed ones."""
        super().prepare_for_status_update(ctx, obj, old)
        for type_ in APPROVAL:
            _keep_conditions(obj, old, type_)
        _stamp_conditions(ctx, obj, old)

    def prepare_for_approval(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        """Carry over all fields but the conditions."""
        super().prepare_for_status_update(ctx, obj, old)
        _stamp_conditions(ctx, obj, old)
        conditions = (obj.get("status") or {}).get("conditions")
        status = {name: value for name, value in (old.get("status") or {}).items() if name != "conditions"}
        obj["status"] = status | ({"conditions": conditions} if conditions else {})

    def name_errors(self, name: str, *, prefix: bool = False) -> Sequence[str]:
        return names.name_is_path_segment(name, prefix=prefix)

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return list(validate_request(obj))

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return list(validate_request_update(obj, old))

    def validate_status_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return list(validate_request_update(obj, old, may_certify=True))

    def validate_approval(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        """Validate an approval or denial."""
        return list(validate_request_update(obj, old, may_approve=True))

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


def _keep_conditions(obj: Tree, old: Tree, type_: str) -> None:
    """Restore the old conditions of a type, unless their number changed."""
    conditions = (obj.get("status") or {}).get("conditions") or []
    before = [c for c in (old.get("status") or {}).get("conditions") or () if c.get("type") == type_]
    places = [place for place, c in enumerate(conditions) if c.get("type") == type_]
    if len(places) == len(before):
        for place, condition in zip(places, before, strict=True):
            conditions[place] = dict(condition)


def _stamp_conditions(ctx: RequestContext, obj: Tree, old: Tree) -> None:
    """Default ``lastUpdateTime`` to now and ``lastTransitionTime`` to now or the old time if the status is unchanged."""
    now = format_time(ctx.now)
    before = (old.get("status") or {}).get("conditions") or ()
    for condition in (obj.get("status") or {}).get("conditions") or ():
        if not condition.get("lastUpdateTime"):
            condition["lastUpdateTime"] = now
        if not condition.get("lastTransitionTime"):
            turned = [
                existing["lastTransitionTime"]
                for existing in before
                if existing.get("lastTransitionTime")
                and all(existing.get(k) == condition.get(k) for k in ("type", "status"))
            ]
            condition["lastTransitionTime"] = turned[-1] if turned else now


def _condition(obj: Tree) -> str:
    status = obj.get("status") or {}
    types = {c.get("type") for c in status.get("conditions") or ()}
    text = "Denied" if "Denied" in types else "Approved" if "Approved" in types else "Pending"
    if "Failed" in types:
        text += ",Failed"
    if status.get("certificate"):
        text += ",Issued"
    return text
