"""Graph of nodes, Pods and the objects they reference. Upstream: ``plugin/pkg/auth/authorizer/node/graph.go``.

A node may read a Secret that a Pod bound to it references, directly or through a PersistentVolume of a claim.
References are counted by node, so that a query is a lookup, however many Pods share an object.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable

V = TypeVar("V")

#: Kind, namespace (empty if cluster-scoped) and name.
Ref = tuple[str, str, str]


class PodReferences(msgspec.Struct, frozen=True):
    """Node of a Pod, and the objects that the Pod references."""

    node: str
    refs: frozenset[Ref] = frozenset()


class NodeGraph:
    """Relationships between nodes and objects, updated per object and queried by ``has_path``."""

    def __init__(self) -> None:
        self._pods: Final[dict[tuple[str, str], PodReferences]] = {}
        #: Object referenced by Pods → node → number of its Pods with the reference.
        self._uses: Final[dict[Ref, Counter[str]]] = {}
        #: PersistentVolume → its claim, and the objects that it references.
        self._volumes: Final[dict[str, tuple[Ref, frozenset[Ref]]]] = {}
        #: Object referenced by PersistentVolumes (or the volume itself) → claims.
        self._claims: Final[dict[Ref, Counter[Ref]]] = {}
        #: Object of one node (VolumeAttachment, ResourceSlice) → node.
        self._owned: Final[dict[Ref, str]] = {}

    def set_pod(self, namespace: str, name: str, needs: PodReferences | None) -> None:
        """Update a Pod; None if it is deleted or unscheduled."""
        key = (namespace, name)
        before = self._pods.pop(key, None)
        if before is not None:
            for ref in before.refs:
                _count_down(self._uses, ref, before.node)
        if needs is not None:
            self._pods[key] = needs
            for ref in needs.refs:
                self._uses.setdefault(ref, Counter())[needs.node] += 1

    def set_volume(self, name: str, claim: Ref | None, refs: Iterable[Ref] = ()) -> None:
        """Update a PersistentVolume; claim None if it is deleted or unbound. ``refs``: objects it references."""
        before = self._volumes.pop(name, None)
        if before is not None:
            for ref in before[1]:
                _count_down(self._claims, ref, before[0])
        if claim is not None:
            needed = frozenset([*refs, ("PersistentVolume", "", name)])
            self._volumes[name] = (claim, needed)
            for ref in needed:
                self._claims.setdefault(ref, Counter())[claim] += 1

    def set_owned(self, kind: str, name: str, node: str) -> None:
        """Update the node of a cluster-scoped object; an empty ``node`` removes it."""
        if node:
            self._owned[kind, "", name] = node
        else:
            self._owned.pop((kind, "", name), None)

    def clear(self, kind: str) -> None:
        """Remove all objects of a kind, before a relist."""
        if kind == "Pod":
            for namespace, name in list(self._pods):
                self.set_pod(namespace, name, None)
        elif kind == "PersistentVolume":
            for name in list(self._volumes):
                self.set_volume(name, None)
        else:
            for ref in [ref for ref in self._owned if ref[0] == kind]:
                del self._owned[ref]

    def has_path(self, node: str, kind: str, namespace: str, name: str) -> bool:
        """Report whether the object is related to the node."""
        ref = (kind, namespace, name)
        if kind == "Pod":
            needs = self._pods.get((namespace, name))
            return needs is not None and needs.node == node
        if node in self._uses.get(ref, ()) or self._owned.get(ref) == node:
            return True
        return any(node in self._uses.get(claim, ()) for claim in self._claims.get(ref, ()))


def _count_down(table: dict[Ref, Counter[V]], key: Ref, value: V) -> None:
    counts = table[key]
    counts[value] -= 1
    if not counts[value]:
        del counts[value]
        if not counts:
            del table[key]
