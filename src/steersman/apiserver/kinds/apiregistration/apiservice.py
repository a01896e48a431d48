"""Strategy of APIServices. ``apiserver/aggregation`` serves them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery import field, names
from steersman.apimachinery.gotext import quote
from steersman.apimachinery.timestamps import format_time
from steersman.apiserver.generic import columns
from steersman.apiserver.generic.strategy import Column, Strategy
from steersman.apiserver.kinds.shared.conditions import STATUSES
from steersman.apiserver.kinds.shared.status_writes import keep_metadata
from steersman.apiserver.kinds.shared.validation import check_all

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext


_SPEC: Final = field.Path("spec")
_CONDITIONS: Final = field.Path("status", "conditions")
_GROUP_PRIORITY_MAX: Final = 20_000
_VERSION_PRIORITY_MAX: Final = 1000


class APIServiceStrategy(Strategy):
    """Strategy of APIServices; local ones have no service."""

    group_resource = "apiservices.apiregistration.k8s.io"
    finalizers_need_domains = False
    allow_unconditional_update = False
    metadata_checks_on_update = (1, 1)
    reset_fields = {"": (("status",),), "status": (("metadata",), ("spec",))}
    columns = (
        columns.NAME_COLUMN,
        Column("Service", description="The reference to the service that hosts this API endpoint."),
        Column("Available", description="Whether this service is available."),
        columns.AGE_COLUMN,
    )

    def name_errors(self, name: str, *, prefix: bool = False) -> Sequence[str]:
        """Accept any path segment, for example ``v1.`` of the core group; ``validate`` requires ``<version>.<group>``."""
        return names.name_is_path_segment(name, prefix=prefix)

    def default(self, obj: Tree, version: str) -> None:
        service = (obj.get("spec") or {}).get("service")
        if service is not None and service.get("port") is None:
            service["port"] = 443

    def prepare_for_create(self, ctx: RequestContext, obj: Tree) -> None:
        super().prepare_for_create(ctx, obj)
        if (obj.get("spec") or {}).get("service") is None:
            obj["status"] = {"conditions": [_local_condition(ctx)]}

    def prepare_for_status_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        super().prepare_for_status_update(ctx, obj, old)
        keep_metadata(obj, old)

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return list(_validate(obj))

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return list(_validate(obj))

    def validate_status_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        conditions = (obj.get("status") or {}).get("conditions") or ()
        return [
            field.not_supported(_CONDITIONS.index(position).child("status"), condition.get("status") or "", STATUSES)
            for position, condition in enumerate(conditions)
            if condition.get("status") not in STATUSES
        ]

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        service = (obj.get("spec") or {}).get("service")
        service_name = f"{service.get('namespace', '')}/{service.get('name', '')}" if service else "Local"
        return [columns.name_of(obj), service_name, _available(obj), columns.age(obj, now)]


def _available(obj: Tree) -> str:
    for condition in (obj.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "Available":
            status: str = condition.get("status", "")
            return status if status == "True" else f"{status} ({condition.get('reason', '')})"
    return "Unknown"


def _local_condition(ctx: RequestContext) -> Tree:
    """Return the condition Available of a local APIService."""
    return {
        "type": "Available",
        "status": "True",
        "lastTransitionTime": format_time(ctx.now),
        "reason": "Local",
        "message": "Local APIServices are always available",
    }


def _validate(obj: Tree) -> Iterator[FieldError]:
    spec, name = obj.get("spec") or {}, obj["metadata"].get("name") or ""
    group, version = spec.get("group") or "", spec.get("version") or ""
    expected_name = f"{version}.{group}"
    if name != expected_name and not names.check_path_segment(name):
        detail = f'must be `spec.version+"."+spec.group`: {quote(expected_name)}'
        yield field.invalid("metadata.name", name, detail)
    if not group and version != "v1":
        detail = "only v1 may have an empty group and it better be legacy kube"
        yield field.required(_SPEC.child("group"), detail)
    if group:
        yield from check_all(_SPEC.child("group"), group, names.check_dns1123_subdomain(group))
    yield from check_all(_SPEC.child("version"), version, names.check_dns1035_label(version))
    limits = (("groupPriorityMinimum", _GROUP_PRIORITY_MAX), ("versionPriority", _VERSION_PRIORITY_MAX))
    for key, most in limits:
        priority = spec.get(key) or 0
        if not 0 < priority <= most:
            yield field.invalid(_SPEC.child(key), priority, f"must be positive and less than {most}")
    yield from _validate_service(spec)


def _validate_service(spec: Tree) -> Iterator[FieldError]:
    service, bundle = spec.get("service"), spec.get("caBundle") or ""
    insecure = bool(spec.get("insecureSkipTLSVerify"))
    if service is None:
        if bundle:
            size = len(bundle) * 3 // 4 - bundle.count("=")
            yield field.invalid(_SPEC.child("caBundle"), f"{size} bytes", "local APIServices may not have a caBundle")
        if insecure:
            detail = "local APIServices may not have insecureSkipTLSVerify"
            yield field.invalid(_SPEC.child("insecureSkipTLSVerify"), True, detail)
        return
    path = _SPEC.child("service")
    for key in ("namespace", "name"):
        if not service.get(key):
            yield field.required(path.child(key))
    port = service.get("port") or 0
    faults = names.check_port_number(port)
    if faults:
        yield field.invalid(path.child("port"), port, f"port is not valid: {', '.join(faults)}")
    if insecure and bundle:
        detail = "may not be true if caBundle is present"
        yield field.invalid(_SPEC.child("insecureSkipTLSVerify"), True, detail)
