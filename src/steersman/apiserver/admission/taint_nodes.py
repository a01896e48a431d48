"""``TaintNodesByCondition``: taints new Nodes as not ready."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from steersman.apiserver.admission.interface import Attributes, Operation, Plugin

if TYPE_CHECKING:
    from steersman.schema.resources import Resource

NOT_READY: Final = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


class TaintNodesByCondition(Plugin):
    """Taint of new Nodes, removed by the node lifecycle controller."""

    name: ClassVar[str] = "TaintNodesByCondition"

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """True for creates of Nodes."""
        return resource.group_resource == "nodes" and not subresource and operation is Operation.CREATE

    async def admit(self, attributes: Attributes) -> None:
        """Add the taint if it is missing."""
        if attributes.object is None:
            return
        spec = attributes.object.setdefault("spec", {})
        taints = spec.get("taints") or []
        if not any((t.get("key"), t.get("effect")) == (NOT_READY["key"], NOT_READY["effect"]) for t in taints):
            spec["taints"] = [*taints, dict(NOT_READY)]
