"""Feed of the node authorizer's graph from the watch caches of Pods, PersistentVolumes, VolumeAttachments and others.

Starts with the first registered Node request; the authorizer itself is ``authz/node.py``, the graph
``authz/node_graph.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apiserver.authz.node_graph import NodeGraph, PodReferences
from steersman.apiserver.kinds.shared.podspec.secrets import secret_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.authz.node_graph import Ref
    from steersman.apiserver.generic.entry import Entry
    from steersman.apiserver.generic.registry import Registry
    from steersman.apiserver.generic.watch_cache import WatchCache

    #: Updates the graph for one object: namespace, name, and the object, or None after its deletion.
    GraphUpdate = Callable[[str, str, Tree | None], None]

_MIRROR: Final = "kubernetes.io/config.mirror"
#: Volume sources of PersistentVolumes with secret references, which may have a namespace.
_VOLUME_REFS: Final = (
    ("cephfs", "secretRef"),
    ("cinder", "secretRef"),
    ("flexVolume", "secretRef"),
    ("rbd", "secretRef"),
    ("scaleIO", "secretRef"),
    ("iscsi", "secretRef"),
    ("storageos", "secretRef"),
    ("csi", "controllerPublishSecretRef"),
    ("csi", "nodePublishSecretRef"),
    ("csi", "nodeStageSecretRef"),
    ("csi", "controllerExpandSecretRef"),
    ("csi", "nodeExpandSecretRef"),
)


class _Feed:
    """``Follower`` of one resource that passes each object to an update function of the graph."""

    def __init__(self, graph: NodeGraph, kind: str, cache: WatchCache, update: GraphUpdate) -> None:
        self._graph = graph
        self._kind = kind
        self._length = len(cache.prefix)
        self._update = update

    def reset(self, entries: list[Entry]) -> None:
        self._graph.clear(self._kind)
        for entry in entries:
            self.put(entry)

    def put(self, entry: Entry) -> None:
        self._update(*self._place(entry.key), entry.tree())

    def remove(self, key: str) -> None:
        self._update(*self._place(key), None)

    def _place(self, key: str) -> tuple[str, str]:
        namespace, _, name = key[self._length :].rpartition("/")
        return namespace, name


def node_graph(registry: Registry) -> NodeGraph:
    """Return a graph that follows the watch caches; it is complete once they are filled."""
    graph = NodeGraph()

    def pod(namespace: str, name: str, tree: Tree | None) -> None:
        graph.set_pod(namespace, name, None if tree is None else _pod_references(tree))

    def volume(_: str, name: str, tree: Tree | None) -> None:
        graph.set_volume(name, *_claim_and_secrets(tree or {}))

    def owned(kind: str) -> GraphUpdate:
        return lambda _, name, tree: graph.set_owned(kind, name, ((tree or {}).get("spec") or {}).get("nodeName") or "")

    for plural, kind, update in (
        ("pods", "Pod", pod),
        ("persistentvolumes", "PersistentVolume", volume),
        ("volumeattachments.storage.k8s.io", "VolumeAttachment", owned("VolumeAttachment")),
        ("resourceslices.resource.k8s.io", "ResourceSlice", owned("ResourceSlice")),
    ):
        cache = registry.stored(plural).cache
        cache.follow(_Feed(graph, kind, cache, update))
        cache.start()
    return graph


def _pod_references(pod: Tree) -> PodReferences | None:
    """Return the objects a Pod references. Mirror pods get no access to objects, so they reference none."""
    spec = pod.get("spec") or {}
    node = spec.get("nodeName")
    if not node:
        return None
    if _MIRROR in (pod["metadata"].get("annotations") or {}):
        return PodReferences(node)
    return PodReferences(node, frozenset(_refs(pod, spec, pod["metadata"].get("namespace") or "")))


def _refs(pod: Tree, spec: Tree, namespace: str) -> Iterator[Ref]:
    if account := spec.get("serviceAccountName"):
        yield "ServiceAccount", namespace, account
    for name in secret_names(spec):
        yield "Secret", namespace, name
    for name in config_map_names(spec):
        yield "ConfigMap", namespace, name
    for volume in spec.get("volumes") or ():
        if claim := volume.get("persistentVolumeClaim"):
            yield "PersistentVolumeClaim", namespace, claim.get("claimName") or ""
        elif "ephemeral" in volume:
            yield "PersistentVolumeClaim", namespace, f"{pod['metadata'].get('name', '')}-{volume['name']}"
    for claim in spec.get("resourceClaims") or ():
        if name := claim.get("resourceClaimName"):
            yield "ResourceClaim", namespace, name
    for status in (pod.get("status") or {}).get("resourceClaimStatuses") or ():
        if name := status.get("resourceClaimName"):
            yield "ResourceClaim", namespace, name


def config_map_names(spec: Tree) -> Iterator[str]:
    """Return the names of ConfigMaps that a Pod references, with repetitions, and empty strings for missing references."""
    for containers in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(containers) or ():
            for source in container.get("envFrom") or ():
                yield (source.get("configMapRef") or {}).get("name") or ""
            for variable in container.get("env") or ():
                yield ((variable.get("valueFrom") or {}).get("configMapKeyRef") or {}).get("name") or ""
    for volume in spec.get("volumes") or ():
        yield (volume.get("configMap") or {}).get("name") or ""
        for part in (volume.get("projected") or {}).get("sources") or ():
            yield (part.get("configMap") or {}).get("name") or ""


def _claim_and_secrets(volume: Tree) -> tuple[Ref | None, list[Ref]]:
    """Return the claim bound to a PersistentVolume and its secrets, whose namespace defaults to the claim's."""
    spec = volume.get("spec") or {}
    claim = spec.get("claimRef")
    if not claim or not claim.get("name"):
        return None, []
    namespace = claim.get("namespace") or ""
    secrets: list[Ref] = []
    for source, name in _VOLUME_REFS:
        if ref := (spec.get(source) or {}).get(name):
            secrets.append(("Secret", ref.get("namespace") or namespace, ref.get("name") or ""))
    if file := spec.get("azureFile"):
        secrets.append(("Secret", file.get("secretNamespace") or namespace, file.get("secretName") or ""))
    return ("PersistentVolumeClaim", namespace, claim["name"]), secrets
