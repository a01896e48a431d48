"""``LimitPodHardAntiAffinityTopology``: nobody keeps others' pods off more than single nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from steersman.apiserver.admission.interface import Attributes, Operation, Plugin

if TYPE_CHECKING:
    from steersman.schema.resources import Resource

_HOSTNAME: Final = "kubernetes.io/hostname"


class LimitPodHardAntiAffinityTopology(Plugin):
    """Required anti-affinity of pods speaks of nodes alone."""

    name: ClassVar[str] = "LimitPodHardAntiAffinityTopology"

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """Creation and change of pods."""
        is_pod = resource.group_resource == "pods" and not subresource
        return is_pod and operation in (Operation.CREATE, Operation.UPDATE)

    async def validate(self, attributes: Attributes) -> None:
        """Raises 403."""
        spec = (attributes.object or {}).get("spec") or {}
        affinity = (spec.get("affinity") or {}).get("podAntiAffinity") or {}
        for term in affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ():
            key = term.get("topologyKey") or ""
            if key != _HOSTNAME:
                raise attributes.forbidden(
                    f"affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey {key}"
                    f" but only key {_HOSTNAME} is allowed"
                )
