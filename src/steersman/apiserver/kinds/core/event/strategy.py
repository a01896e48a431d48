"""Strategy of Events of the core group and of ``events.k8s.io``, which serves the same objects with other field names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apimachinery import names
from steersman.apiserver.generic.columns import name_of, since
from steersman.apiserver.generic.strategy import Column, Strategy
from steersman.apiserver.kinds.core.event.validation import validate_event, validate_event_update

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext

EVENT_COLUMNS: Final = (
    Column("Last Seen", field="core.v1.Event.lastTimestamp"),
    Column("Type", field="core.v1.Event.type"),
    Column("Reason", field="core.v1.Event.reason"),
    Column("Object", field="core.v1.Event.involvedObject"),
    Column("Subobject", priority=1, field="core.v1.ObjectReference.fieldPath"),
    Column("Source", priority=1, field="core.v1.Event.source"),
    Column("Message", field="core.v1.Event.message"),
    Column("First Seen", priority=1, field="core.v1.Event.firstTimestamp"),
    Column("Count", priority=1, field="core.v1.Event.count"),
    Column("Name", format="name", priority=1, field="meta.v1.ObjectMeta.name"),
)
_INVOLVED: Final = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")


def _involved(field: str) -> Callable[[Tree], str]:
    return lambda obj: str((obj.get("involvedObject") or {}).get(field) or "")


def _source(obj: Tree) -> str:
    """Return the reporting component: ``source.component``, else ``reportingComponent``."""
    return str((obj.get("source") or {}).get("component") or obj.get("reportingComponent") or "")


def _is_strict(ctx: RequestContext) -> bool:
    """Report whether the request uses ``events.k8s.io``, whose validation is stricter."""
    return ctx.group_resource.endswith(".events.k8s.io")


class EventStrategy(Strategy):
    """Strategy of Events: they expire after ``--event-ttl``, and are deleted at once, because the garbage collector does
    not watch them; their Table shows ages.
    """

    group_resource = "events"
    allow_create_on_update = True
    default_propagation = "none"
    # ``events.k8s.io`` checks metadata in ``validate`` and ``validate_update``
    finalizers_need_domains = False
    metadata_checks_on_update = (0, 0)
    checks_metadata_last = True
    reset_fields: ClassVar = {}
    columns = EVENT_COLUMNS
    field_labels: ClassVar = {
        **{f"involvedObject.{field}": _involved(field) for field in _INVOLVED},
        "reason": lambda obj: obj.get("reason", ""),
        "reportingComponent": lambda obj: obj.get("reportingComponent", ""),
        "source": _source,
        "type": lambda obj: obj.get("type", ""),
    }

    def prepare_for_create(self, ctx: RequestContext, obj: Tree) -> None:
        """Do nothing: there are no server-owned fields."""

    def prepare_for_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        """Do nothing: there are no server-owned fields."""

    def name_errors(self, name: str, *, prefix: bool = False) -> Sequence[str]:
        """Accept any path segment; ``events.k8s.io`` validates names as DNS subdomains."""
        return names.name_is_path_segment(name, prefix=prefix)

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return validate_event(obj, is_strict=_is_strict(ctx))

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return validate_event_update(obj, old, is_strict=_is_strict(ctx))

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        first = since(obj.get("firstTimestamp") or obj.get("eventTime"), now)
        last = since(obj["lastTimestamp"], now) if obj.get("lastTimestamp") else first
        count = obj.get("count") or 1
        series = obj.get("series")
        if series is not None:
            last, count = since(series.get("lastObservedTime"), now), series.get("count", 0)
        involved = obj.get("involvedObject") or {}
        target = involved.get("kind", "").lower()
        if involved.get("name"):
            target += f"/{involved['name']}"
        return [
            last,
            obj.get("type", ""),
            obj.get("reason", ""),
            target,
            involved.get("fieldPath", ""),
            _source_text(obj),
            obj.get("message", "").strip(),
            first,
            count,
            name_of(obj),
        ]


def _source_text(obj: Tree) -> str:
    host = (obj.get("source") or {}).get("host") or obj.get("reportingInstance") or ""
    component = _source(obj)
    return f"{component}, {host}" if host else component
