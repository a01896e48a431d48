"""``PodTopologyLabels``: copies zone and region labels of a Node to its pods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apiserver.admission.interface import Attributes, Operation, Plugin
from steersman.apiserver.admission.lookups import Lookup

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from steersman.apiserver.generic.watch_cache import WatchCache
    from steersman.schema.resources import Resource

LABELS: Final = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


class PodTopologyLabels(Plugin):
    """Labels of pods created with a node, and of bindings, whose labels are copied to the pod."""

    name: ClassVar[str] = "PodTopologyLabels"

    def __init__(self, nodes: WatchCache) -> None:
        self._labels: Final = Lookup(nodes, _read)

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """True for creates of pods and bindings."""
        if operation is not Operation.CREATE or resource.group:
            return False
        return (resource.name, subresource) in (("pods", ""), ("pods", "binding"), ("bindings", ""))

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        """Copy the labels of the node, if it exists."""
        obj = attributes.object
        if obj is None:
            return None
        if attributes.subresource or attributes.resource.name == "bindings":
            target = obj.get("target") or {}
            node = target.get("name") if target.get("kind") in (None, "", "Node") else None
        else:
            node = (obj.get("spec") or {}).get("nodeName")
        return self._label(obj, node) if node else None

    async def _label(self, obj: dict[str, Any], node: str) -> None:
        labels = await self._labels.get(node)
        if labels:
            obj["metadata"]["labels"] = {**(obj["metadata"].get("labels") or {}), **labels}


def _read(tree: dict[str, Any]) -> dict[str, str]:
    labels = tree["metadata"].get("labels") or {}
    return {name: labels[name] for name in LABELS if name in labels}
