"""Rules for the content of terminating namespaces: order, remains, estimates, conditions. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import msgspec
from lightkube.models.core_v1 import Namespace, NamespaceCondition, NamespaceStatus

from steersman.client.objects import metadata_field

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from steersman.client import ResourceType

#: This controller's finalizer in ``spec.finalizers``.
FINALIZER: Final = "kubernetes"
PODS: Final = "pods"
#: Estimated seconds for objects with finalizers.
_FINALIZER_SECONDS: Final = 15

DISCOVERY_FAILURE: Final = "NamespaceDeletionDiscoveryFailure"
PARSING_FAILURE: Final = "NamespaceDeletionGroupVersionParsingFailure"
CONTENT_FAILURE: Final = "NamespaceDeletionContentFailure"
CONTENT_REMAINING: Final = "NamespaceContentRemaining"
FINALIZERS_REMAINING: Final = "NamespaceFinalizersRemaining"

#: Type → reason and message of success, in the order of writing.
_WELL: Final = {
    DISCOVERY_FAILURE: ("ResourcesDiscovered", "All resources successfully discovered"),
    PARSING_FAILURE: ("ParsedGroupVersions", "All legacy kube types successfully parsed"),
    CONTENT_FAILURE: ("ContentDeleted", "All content successfully deleted, may be waiting on finalization"),
    CONTENT_REMAINING: ("ContentRemoved", "All content successfully removed"),
    FINALIZERS_REMAINING: ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}


@dataclass(frozen=True, slots=True)
class ResourcesRemaining:
    """Objects of one resource left after its deletion."""

    #: Estimated seconds until the content is deleted; 0 if unknown.
    estimate_seconds: int = 0
    count: int = 0
    finalizers: Mapping[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Progress:
    """Result of one pass over a namespace."""

    discovery_failed: Mapping[str, str] = field(default_factory=dict)
    #: Error messages.
    errors: list[str] = field(default_factory=list)
    #: Remaining objects by ``resource.group`` (with the dot also for the core group).
    remains: dict[str, ResourcesRemaining] = field(default_factory=dict)

    def add(self, resource: ResourceType[Any], remains: ResourcesRemaining) -> None:
        """Record the remaining objects of a resource."""
        if remains.count:
            self.remains[f"{resource.info.name}.{resource.info.group}"] = remains

    @property
    def estimate_seconds(self) -> int:
        """Longest estimate of all resources."""
        return max((remains.estimate_seconds for remains in self.remains.values()), default=0)

    @property
    def is_empty(self) -> bool:
        """True if no object remains and all resources were checked."""
        return not (self.remains or self.errors or self.discovery_failed)


def is_to_be_emptied(namespace: Namespace | None) -> bool:
    """Report whether the namespace is terminating and still has this controller's finalizer."""
    if namespace is None or namespace.metadata is None or namespace.metadata.deletionTimestamp is None:
        return False
    return FINALIZER in ((namespace.spec and namespace.spec.finalizers) or ())


def terminating(namespace: Namespace) -> Namespace | None:
    """Return the namespace with phase ``Terminating``; None if it has it."""
    status = namespace.status or NamespaceStatus()
    if status.phase == "Terminating":
        return None
    return msgspec.structs.replace(namespace, status=msgspec.structs.replace(status, phase="Terminating"))


def in_order(resources: Iterable[ResourceType[Any]]) -> tuple[list[ResourceType[Any]], list[ResourceType[Any]]]:
    """Return pods, which are deleted first as they may need the rest (KEP-5080), and the other resources."""
    pods: list[ResourceType[Any]] = []
    rest: list[ResourceType[Any]] = []
    for resource in resources:
        if resource.info.namespaced:
            (pods if resource.info.group_resource == PODS else rest).append(resource)
    return pods, rest


def remains_of(resource: ResourceType[Any], objects: list[Any]) -> ResourcesRemaining:
    """Return the remaining objects. Raises UnexpectedItemsRemain for objects without finalizers or grace period."""
    if not objects:
        return ResourcesRemaining()
    finalizers: dict[str, int] = {}
    for obj in objects:
        for name in metadata_field(obj, "finalizers") or ():
            finalizers[name] = finalizers.get(name, 0) + 1
    estimate = _grace(objects) if resource.info.group_resource == PODS else 0
    if not estimate and finalizers:
        estimate = _FINALIZER_SECONDS
    if not estimate and not finalizers:
        info = resource.info
        raise UnexpectedItemsRemain(
            f"{info.group}/{info.version}, Resource={info.name}", ResourcesRemaining(0, len(objects), finalizers)
        )
    return ResourcesRemaining(estimate, len(objects), finalizers)


class UnexpectedItemsRemain(ValueError):  # noqa: N818 — named by the condition
    """Objects without finalizers exist after their deletion."""

    def __init__(self, resource: str, remains: ResourcesRemaining) -> None:
        super().__init__(resource)
        self.remains = remains


def _grace(pods: list[Any]) -> int:
    return max(
        (metadata_field(pod, "deletionGracePeriodSeconds") or 0 for pod in pods
         if metadata_field(pod, "deletionTimestamp") is not None),
        default=0,
    )  # fmt: skip


def seconds_to_next_pass(progress: Progress) -> float:
    """Return the delay of the next pass unless a deletion is observed, which triggers one."""
    return progress.estimate_seconds / 2 + 1


def conditions(progress: Progress) -> list[NamespaceCondition]:
    """Return the conditions of a pass."""
    conditions: list[NamespaceCondition] = []
    if progress.discovery_failed:
        listed = ", ".join(f"{version}: {error}" for version, error in sorted(progress.discovery_failed.items()))
        count = len(progress.discovery_failed)
        conditions.append(
            _condition(
                DISCOVERY_FAILURE,
                "DiscoveryFailed",
                f"Discovery failed for some groups, {count} failing: unable to retrieve the complete list of server "
                f"APIs: {listed}",
            )
        )
    if progress.errors:
        listed = ", ".join(sorted(progress.errors))
        text = f"Failed to delete all resource types, {len(progress.errors)} remaining: {listed}"
        conditions.append(_condition(CONTENT_FAILURE, "ContentDeletionFailed", text))
    if progress.remains:
        listed = ", ".join(
            f"{name} has {remains.count} resource instances" for name, remains in sorted(progress.remains.items())
        )
        conditions.append(
            _condition(CONTENT_REMAINING, "SomeResourcesRemain", f"Some resources are remaining: {listed}")
        )
    finalizers: dict[str, int] = {}
    for remains in progress.remains.values():
        for name, count in remains.finalizers.items():
            finalizers[name] = finalizers.get(name, 0) + count
    if finalizers:
        listed = ", ".join(f"{name} in {count} resource instances" for name, count in sorted(finalizers.items()))
        text = f"Some content in the namespace has finalizers remaining: {listed}"
        conditions.append(_condition(FINALIZERS_REMAINING, "SomeFinalizersRemain", text))
    return conditions


def with_conditions(namespace: Namespace, conditions: list[NamespaceCondition], *, now: datetime) -> Namespace | None:
    """Return the namespace with all conditions; None if they are up to date."""
    status = namespace.status or NamespaceStatus()
    listed = list(status.conditions or ())
    by_type = {condition.type: condition for condition in conditions}
    changed = False
    for type_, (reason, message) in _WELL.items():
        new = by_type.get(type_) or NamespaceCondition(type=type_, status="False", reason=reason, message=message)
        place = next((place for place, old in enumerate(listed) if old.type == type_), None)
        if place is None:
            listed.append(msgspec.structs.replace(new, lastTransitionTime=now))
            changed = True
            continue
        old = listed[place]
        if (old.status, old.reason, old.message) != (new.status, new.reason, new.message):
            moment = now if old.status != new.status else old.lastTransitionTime
            listed[place] = msgspec.structs.replace(new, lastTransitionTime=moment)
            changed = True
    if not changed:
        return None
    return msgspec.structs.replace(namespace, status=msgspec.structs.replace(status, conditions=listed))


def finalized(namespace: Namespace) -> Namespace:
    """Return the namespace without this controller's finalizer, for its ``finalize`` subresource."""
    assert namespace.spec is not None
    remaining = [name for name in namespace.spec.finalizers or () if name != FINALIZER]
    return msgspec.structs.replace(namespace, spec=msgspec.structs.replace(namespace.spec, finalizers=remaining))


def _condition(type_: str, reason: str, message: str) -> NamespaceCondition:
    return NamespaceCondition(type=type_, status="True", reason=reason, message=message)
