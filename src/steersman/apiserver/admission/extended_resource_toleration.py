"""``ExtendedResourceToleration``: a pod that asks for somebody's devices tolerates the taint of the nodes that have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apiserver.admission.interface import Attributes, Operation, Plugin
from steersman.apiserver.kinds.shared.podspec.resource_names import is_extended

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.schema.resources import Resource

    Tree = dict[str, Any]

#: What makes two tolerations speak of the same taint.
_IDENTITY: Final = ("key", "effect", "operator", "value")


class ExtendedResourceToleration(Plugin):
    """Pods; the taint's key is the resource's name, its effect ``NoSchedule``."""

    name: ClassVar[str] = "ExtendedResourceToleration"

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """Creation and change of pods."""
        is_pod = resource.group_resource == "pods" and not subresource
        return is_pod and operation in (Operation.CREATE, Operation.UPDATE)

    async def admit(self, attributes: Attributes) -> None:
        """Add a toleration for each resource, in order of their names."""
        if attributes.object is None:
            return
        spec = attributes.object["spec"]
        if names := _extended_resources(spec):
            spec["tolerations"] = with_tolerations(spec.get("tolerations") or [], sorted(names))


def _extended_resources(spec: Tree) -> set[str]:
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    asked = {name for each in containers for name in (each.get("resources") or {}).get("requests") or ()}
    return {name for name in asked if is_extended(name)}


def with_tolerations(tolerations: Sequence[Tree], resources: Sequence[str]) -> list[Tree]:
    """Return the tolerations with one for each resource, in place of those of the same taint or else at the end."""
    added = {_identity(each): each for each in map(_toleration_of, resources)}
    present = {_identity(each) for each in tolerations}
    replaced = [added.get(_identity(each), each) for each in tolerations]
    return replaced + [each for identity, each in added.items() if identity not in present]


def _toleration_of(resource: str) -> Tree:
    return {"key": resource, "operator": "Exists", "effect": "NoSchedule"}


def _identity(toleration: Tree) -> tuple[Any, ...]:
    return tuple(toleration.get(part, "") for part in _IDENTITY)
