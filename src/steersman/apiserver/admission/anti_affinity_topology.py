"""``LimitPodHardAntiAffinityTopology``: limits required pod anti-affinity to single nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from steersman.apiserver.admission.interface import Attributes, Operation, Plugin

if TYPE_CHECKING:
    from steersman.schema.resources import Resource

_HOSTNAME: Final = "kubernetes.io/hostname"


class LimitPodHardAntiAffinityTopology(Plugin):
    """Reject required anti-affinity with other topology keys than the hostname."""

    name: ClassVar[str] = "LimitPodHardAntiAffinityTopology"

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """True for creates and updates of pods."""
        is_pod = resource.group_resource == "pods" and not subresource
        return is_pod and operation in (Operation.CREATE, Operation.UPDATE)

    async def validate(self, attributes: Attributes) -> None:
        """Raise 403 for another topology key."""
        spec = (attributes.object or {}).get("spec") or {}
        affinity = (spec.get("affinity") or {}).get("podAntiAffinity") or {}
        for term in affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ():
            key = term.get("topologyKey") or ""
            if key != _HOSTNAME:
                raise attributes.forbidden(
                    f"affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey {key}"
                    f" but only key {_HOSTNAME} is allowed"
                )
