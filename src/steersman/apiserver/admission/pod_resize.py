"""``PodResizeValidator``: rejects resizes that exceed the allocatable resources of the pod's node."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from steersman.apimachinery.quantity import Quantity, parse
from steersman.apiserver.admission.interface import Attributes, Operation, Plugin
from steersman.apiserver.admission.lookups import Lookup
from steersman.apiserver.kinds.shared.podspec.resources import pod_totals

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.generic.watch_cache import WatchCache
    from steersman.schema.resources import Resource


_OS_LABEL: Final = "kubernetes.io/os"
_ZERO: Final = Quantity(0)


class PodResizeValidator(Plugin):
    """Check that the node exists, runs Linux, and can hold the resized pod alone."""

    name: ClassVar[str] = "PodResizeValidator"

    def __init__(self, nodes: WatchCache) -> None:
        self._nodes: Final = Lookup(nodes, _Node)

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """True for updates of ``pods/resize``."""
        return operation is Operation.UPDATE and resource.group_resource == "pods" and subresource == "resize"

    async def validate(self, attributes: Attributes) -> None:
        """Raise 403 for an impossible resize."""
        pod, old = attributes.object, attributes.old_object
        if pod is None or old is None or pod["metadata"].get("generation") == old["metadata"].get("generation"):
            return
        name = pod["spec"].get("nodeName")
        if not name:
            return
        node = await self._nodes.get(name)
        if node is None:
            raise attributes.forbidden(f'node "{name}" not found')
        missing_resources = node.missing_resources(pod["spec"])
        if missing_resources:
            raise attributes.forbidden(f"Node didn't have enough allocatable resources: {'; '.join(missing_resources)}")
        if node.system != "linux":
            raise attributes.forbidden(f'pod resize is only supported on linux nodes, node "{name}" is "{node.system}"')


class _Node:
    __slots__ = ("_allocatable", "system")

    def __init__(self, tree: Tree) -> None:
        amounts = (tree.get("status") or {}).get("allocatable") or {}
        self._allocatable: Final = {name: parse(amounts[name]) for name in ("cpu", "memory") if name in amounts}
        self.system: Final[str] = (tree["metadata"].get("labels") or {}).get(_OS_LABEL, "")

    def missing_resources(self, spec: Tree) -> list[str]:
        """Return the resources that the pod requests beyond the node's allocatable ones, in millicores and bytes."""
        totals = pod_totals(spec, "requests")
        texts: list[str] = []
        for name in ("cpu", "memory"):
            requested, allocatable = totals.get(name, _ZERO), self._allocatable.get(name, _ZERO)
            amounts = (requested.milli, allocatable.milli) if name == "cpu" else (int(requested), int(allocatable))
            if amounts[0] > amounts[1]:
                texts.append(f"{name}, requested: {amounts[0]}, allocatable: {amounts[1]}")
        return texts
