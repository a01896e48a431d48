"""Strategy of CSIDrivers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apiserver.generic import columns
from steersman.apiserver.generic.strategy import Column, Strategy
from steersman.apiserver.kinds.storage.csidriver.validation import validate_csi_driver, validate_csi_driver_update

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext


_TOKENS_IN_ATTRIBUTES: Final = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging "
    "of tokens in volume attributes"
)


class CSIDriverStrategy(Strategy):
    """Strategy of CSIDrivers. As upstream, the generation is unset until the first change of the spec."""

    group_resource = "csidrivers.storage.k8s.io"
    allow_unconditional_update = False
    returns_deleted_object = True
    columns = (
        columns.NAME_COLUMN,
        Column("AttachRequired", type="boolean", field="storage.v1.CSIDriverSpec.attachRequired"),
        Column("PodInfoOnMount", type="boolean", field="storage.v1.CSIDriverSpec.podInfoOnMount"),
        Column("StorageCapacity", type="boolean", field="storage.v1.CSIDriverSpec.storageCapacity"),
        Column("TokenRequests", field="storage.v1.CSIDriverSpec.tokenRequests"),
        Column("RequiresRepublish", type="boolean", field="storage.v1.CSIDriverSpec.requiresRepublish"),
        Column("Modes", field="storage.v1.CSIDriverSpec.volumeLifecycleModes"),
        columns.AGE_COLUMN,
    )

    def default(self, obj: Tree, version: str) -> None:
        spec = obj.setdefault("spec", {})
        if spec.get("attachRequired") is None:
            spec["attachRequired"] = True
        for flag in ("podInfoOnMount", "storageCapacity", "requiresRepublish", "seLinuxMount"):
            if spec.get(flag) is None:
                spec[flag] = False
        if spec.get("fsGroupPolicy") is None:
            spec["fsGroupPolicy"] = "ReadWriteOnceWithFSType"
        if not spec.get("volumeLifecycleModes"):
            spec["volumeLifecycleModes"] = ["Persistent"]

    def prepare_for_create(self, ctx: RequestContext, obj: Tree) -> None:
        super().prepare_for_create(ctx, obj)
        _drop_disabled(obj, {})

    def prepare_for_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        super().prepare_for_update(ctx, obj, old)
        _drop_disabled(obj, old)
        generation = old["metadata"].get("generation", 0) + (obj.get("spec") != old.get("spec"))
        if generation:
            obj["metadata"]["generation"] = generation

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return list(validate_csi_driver(obj))

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return list(validate_csi_driver_update(obj, old))

    def warnings(self, ctx: RequestContext, obj: Tree, old: Tree | None) -> Sequence[str]:
        """Warn when token requests are added: tokens in volume attributes may be logged."""
        spec = obj.get("spec") or {}
        requests = spec.get("tokenRequests")
        old_requests = ((old or {}).get("spec") or {}).get("tokenRequests")
        if requests and requests != old_requests and spec.get("serviceAccountTokenInSecrets") is None:
            return (_TOKENS_IN_ATTRIBUTES,)
        return ()

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        spec = obj.get("spec") or {}
        audiences = [request.get("audience", "") for request in spec.get("tokenRequests") or ()]
        return [
            columns.name_of(obj),
            spec.get("attachRequired") is not False,
            spec.get("podInfoOnMount") is True,
            spec.get("storageCapacity") is True,
            ",".join(audiences) or columns.UNSET,
            spec.get("requiresRepublish") is True,
            ",".join(spec.get("volumeLifecycleModes") or ()) or columns.NONE,
            columns.age(obj, now),
        ]


def _drop_disabled(obj: Tree, old: Tree) -> None:
    """Drop ``preventPodSchedulingIfMissing`` unless the old object has it: the gate ``VolumeLimitScaling`` is off."""
    if (old.get("spec") or {}).get("preventPodSchedulingIfMissing") is None:
        (obj.get("spec") or {}).pop("preventPodSchedulingIfMissing", None)
