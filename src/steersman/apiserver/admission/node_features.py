"""``NodeDeclaredFeatureValidator``: rejects pod updates that require features which the pod's node does not declare."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from steersman.apiserver.admission.interface import Attributes, Operation, Plugin
from steersman.apiserver.admission.lookups import Lookup
from steersman.apiserver.kinds.shared.podspec.resources import is_sidecar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.generic.watch_cache import WatchCache
    from steersman.schema.resources import Resource


class NodeDeclaredFeatureValidator(Plugin):
    """Check of required features against ``status.declaredFeatures`` of the node (KEP-5328)."""

    name: ClassVar[str] = "NodeDeclaredFeatureValidator"

    def __init__(self, nodes: WatchCache) -> None:
        self._features: Final = Lookup(nodes, _declared)

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """True for updates and resizes of pods."""
        return operation is Operation.UPDATE and resource.group_resource == "pods" and subresource in ("", "resize")

    async def validate(self, attributes: Attributes) -> None:
        """Raise 403 for missing features."""
        pod, old = attributes.object, attributes.old_object
        if pod is None or old is None or pod["metadata"].get("generation") == old["metadata"].get("generation"):
            return
        node = pod["spec"].get("nodeName")
        needed = sorted(needed_features(pod, old)) if node else []
        if not needed:
            return
        declared = await self._features.get(node)
        if declared is None:
            raise attributes.forbidden(f'node "{node}" not found')
        missing = [feature for feature in needed if feature not in declared]
        if missing:
            listed = ", ".join(missing)
            raise attributes.forbidden(
                f'pod update requires features {listed} which are not available on node "{node}"'
            )


def needed_features(pod: Tree, old: Tree) -> Iterator[str]:
    """Yield the node features that an update of a pod requires."""
    spec, before = pod["spec"], old["spec"]
    init_pairs = zip(spec.get("initContainers") or (), before.get("initContainers") or (), strict=False)
    if any(not is_sidecar(one) and container.get("resources") != one.get("resources") for container, one in init_pairs):
        yield "InPlacePodVerticalScalingInitContainers"
    if spec.get("resources") != before.get("resources"):
        yield "InPlacePodLevelResourcesVerticalScaling"


def _declared(tree: Tree) -> frozenset[str]:
    return frozenset((tree.get("status") or {}).get("declaredFeatures") or ())
