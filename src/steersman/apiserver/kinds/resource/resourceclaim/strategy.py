"""Strategy of ResourceClaims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apimachinery.field import Path
from steersman.apiserver.generic import columns
from steersman.apiserver.generic.strategy import Column, Strategy
from steersman.apiserver.kinds.resource.resourceclaim.status_validation import validate_claim_status
from steersman.apiserver.kinds.resource.shared.admin_access import check_allocation, check_requests, no_namespaces
from steersman.apiserver.kinds.resource.shared.claim_validation import validate_claim_spec
from steersman.apiserver.kinds.resource.shared.requests import default_claim_spec
from steersman.apiserver.kinds.shared.status_writes import keep_metadata
from steersman.apiserver.kinds.shared.validation import check_unchanged

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.authz.claim_writers import ClaimWriters
    from steersman.apiserver.kinds.resource.shared.admin_access import NamespaceLabels
    from steersman.apiserver.request import RequestContext


class ResourceClaimStrategy(Strategy):
    """Strategy of ResourceClaims; allocation and reservations are in the status."""

    group_resource = "resourceclaims.resource.k8s.io"
    returns_deleted_object = True
    metadata_checks_on_update = (1, 1)
    validation_depends_on_user = True
    is_metered = True
    reset_fields = {"": (("status",),), "status": (("metadata",), ("spec",))}
    columns = (
        columns.NAME_COLUMN,
        Column("State", description="A summary of the current state (allocated, pending, reserved, etc.)."),
        columns.AGE_COLUMN,
    )

    def __init__(self, labels_of: NamespaceLabels = no_namespaces, writers: ClaimWriters | None = None) -> None:
        """``labels_of``: returns the labels of a namespace, which permit admin access.

        ``writers``: authorizes changes of status parts; None skips the check.
        """
        self._labels_of = labels_of
        self._writers = writers

    def default(self, obj: Tree, version: str) -> None:
        default_claim_spec(obj.get("spec"))

    def prepare_for_status_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        super().prepare_for_status_update(ctx, obj, old)
        keep_metadata(obj, old)
        _drop_released_devices(obj.get("status") or {}, old.get("status") or {})

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        spec = obj.get("spec") or {}
        return [*check_requests(spec, ctx.namespace, self._labels_of), *validate_claim_spec(spec)]

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        # as upstream, a changed spec has no other error
        return list(check_unchanged(obj.get("spec"), old.get("spec"), Path("spec"), go_type="ResourceClaimSpec"))

    def validate_status_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        errors = [*check_allocation(obj, old, self._labels_of)]
        if self._writers is not None:
            status, before = obj.get("status") or {}, old.get("status") or {}
            # Deallocation removes device statuses without a driver's permission.
            allocated_devices = _allocated_devices(before.get("devices") or (), status, before)
            errors += self._writers.check(ctx, status, {**before, "devices": allocated_devices})
        return [*errors, *validate_claim_status(obj, old)]

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        return [columns.name_of(obj), _state(obj), columns.age(obj, now)]


def _drop_released_devices(status: Tree, before: Tree) -> None:
    """Remove the statuses of devices that are no longer allocated."""
    devices = _allocated_devices(status.get("devices") or (), status, before)
    if devices:
        status["devices"] = devices
    else:
        status.pop("devices", None)


def _allocated_devices(devices: Iterable[Tree], status: Tree, before: Tree) -> list[Tree]:
    released = _allocated(before) - _allocated(status)
    return [device for device in devices if _identity(device) not in released]


def _allocated(status: Tree) -> set[tuple[str, ...]]:
    results = ((status.get("allocation") or {}).get("devices") or {}).get("results") or ()
    return {_identity(result) for result in results}


def _identity(device: Tree) -> tuple[str, ...]:
    return tuple(device.get(part) or "" for part in ("driver", "pool", "device", "shareID"))


def _state(obj: Tree) -> str:
    status = obj.get("status") or {}
    states = ["deleted"] if obj["metadata"].get("deletionTimestamp") else []
    if status.get("allocation") is None:
        states += [] if states else ["pending"]
    else:
        states.append("allocated")
        if status.get("reservedFor"):
            states.append("reserved")
    return ",".join(states)
