"""``ExtendedResourceToleration``: tolerations for the taints of nodes with the extended resources that a pod requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apiserver.admission.interface import Attributes, Operation, Plugin
from steersman.apiserver.kinds.shared.podspec.resource_names import is_extended

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.schema.resources import Resource


#: Fields that identify the tolerated taint.
_IDENTITY: Final = ("key", "effect", "operator", "value")


class ExtendedResourceToleration(Plugin):
    """Tolerations with the resource name as key and effect ``NoSchedule``."""

    name: ClassVar[str] = "ExtendedResourceToleration"

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """True for creates and updates of pods."""
        is_pod = resource.group_resource == "pods" and not subresource
        return is_pod and operation in (Operation.CREATE, Operation.UPDATE)

    async def admit(self, attributes: Attributes) -> None:
        """Add a toleration for each resource, sorted by name."""
        if attributes.object is None:
            return
        spec = attributes.object["spec"]
        if names := _extended_resources(spec):
            spec["tolerations"] = with_tolerations(spec.get("tolerations") or [], sorted(names))


def _extended_resources(spec: Tree) -> set[str]:
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    requested = {name for container in containers for name in (container.get("resources") or {}).get("requests") or ()}
    return {name for name in requested if is_extended(name)}


def with_tolerations(tolerations: Sequence[Tree], resources: Sequence[str]) -> list[Tree]:
    """Return the tolerations with one for each resource, replacing those of the same taint."""
    added = {_identity(toleration): toleration for toleration in map(_toleration_of, resources)}
    present = {_identity(toleration) for toleration in tolerations}
    replaced = [added.get(_identity(toleration), toleration) for toleration in tolerations]
    return replaced + [toleration for identity, toleration in added.items() if identity not in present]


def _toleration_of(resource: str) -> Tree:
    return {"key": resource, "operator": "Exists", "effect": "NoSchedule"}


def _identity(toleration: Tree) -> tuple[Any, ...]:
    return tuple(toleration.get(part, "") for part in _IDENTITY)
