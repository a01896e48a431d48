"""``ExtendedResourceToleration``: a pod that asks for somebody's devices tolerates the taint of the nodes that have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apiserver.admission.interface import Attributes, Operation, Plugin
from steersman.apiserver.registry.podspec.resource_names import is_extended

if TYPE_CHECKING:
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
        for name in sorted(_extended_resources(spec)):
            toleration = {"key": name, "operator": "Exists", "effect": "NoSchedule"}
            spec["tolerations"] = with_toleration(spec.get("tolerations") or [], toleration)


def _extended_resources(spec: Tree) -> set[str]:
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    asked = {name for each in containers for name in (each.get("resources") or {}).get("requests") or ()}
    return {name for name in asked if is_extended(name)}


def with_toleration(tolerations: list[Tree], one: Tree) -> list[Tree]:
    """The list with ``one`` in the place of those that speak of the same taint, or else at its end."""
    others = [each for each in tolerations if any(each.get(part, "") != one.get(part, "") for part in _IDENTITY)]
    if len(others) == len(tolerations):
        return [*tolerations, one]
    return [each if each in others else one for each in tolerations]
