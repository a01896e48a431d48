"""Rules of the built-in kinds behind the engine's interface ``generic.registry.Kinds``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apiserver.kinds.conversion import conversions_for
from steersman.apiserver.kinds.stored_versions import readable_versions
from steersman.apiserver.kinds.strategies import strategy_class

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.generic.strategy import Strategy
    from steersman.apiserver.kinds.conversion import Conversion
    from steersman.schema.resources import Resource

#: Default of ``--event-ttl``.
EVENT_TTL_SECONDS: Final = 3600

#: Field labels of ``events.k8s.io`` by their names in core/v1, which events are stored as.
_EVENT_FIELD_LABELS: Final[Mapping[str, str]] = {
    "regarding.kind": "involvedObject.kind",
    "regarding.namespace": "involvedObject.namespace",
    "regarding.name": "involvedObject.name",
    "regarding.uid": "involvedObject.uid",
    "regarding.apiVersion": "involvedObject.apiVersion",
    "regarding.resourceVersion": "involvedObject.resourceVersion",
    "regarding.fieldPath": "involvedObject.fieldPath",
    "reason": "reason",
    "reportingController": "reportingComponent",
    "type": "type",
}


class BuiltInKinds:
    """Strategies, conversions, field labels and lifetimes of the built-in kinds."""

    def __init__(
        self,
        strategies: Mapping[str, Callable[[], Strategy]] | None = None,
        *,
        event_ttl_seconds: int = EVENT_TTL_SECONDS,
        gates: Mapping[str, bool] | None = None,
    ) -> None:
        """``strategies``: constructors by group resource, for kinds whose strategies take parameters.

        ``gates``: feature gates that are set.
        """
        self._strategies: Final = dict(strategies or {})
        self._event_ttl_seconds: Final = event_ttl_seconds
        self._gates: Final = dict(gates or {})

    def strategy(self, resource: Resource) -> Strategy:
        """Return a new strategy. Raises ``LookupError`` for a kind without one."""
        construct = self._strategies.get(resource.group_resource)
        return strategy_class(resource)() if construct is None else construct()

    def conversions(self, resource: Resource) -> tuple[Conversion | None, Conversion | None]:
        """Return the conversions to the storage version and back; None twice where the resource is served in it."""
        return conversions_for(resource)

    def readable_versions(self, resource: Resource) -> Mapping[str, Conversion | None]:
        """Return conversions of other API versions that a stored value may have; None where the fields are the same."""
        return readable_versions(resource)

    def field_labels(self, resource: Resource) -> Mapping[str, str] | None:
        """Return the field labels by their names in the storage version; None where they are the same."""
        is_new_event = (resource.group, resource.name) == ("events.k8s.io", "events")
        return _EVENT_FIELD_LABELS if is_new_event else None

    def ttl_seconds(self, resource: Resource) -> int | None:
        """Return ``--event-ttl`` for Events; other objects do not expire."""
        return self._event_ttl_seconds if resource.kind == "Event" else None

    def drop_disabled(self, resource: Resource) -> Callable[[Tree, Tree | None], None] | None:
        """Return the function that drops fields of feature gates that are off; None where there are none."""
        if all(self._gates.values()):
            return None
        from steersman.apiserver.kinds.disabled_fields import disabled_fields  # noqa: PLC0415 — few switch gates off

        disabled = disabled_fields(resource.group_resource, self._gates)
        return None if disabled is None else disabled.drop
