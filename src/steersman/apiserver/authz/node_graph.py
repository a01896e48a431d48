"""What belongs to which node: its pods, and everything that these need (``plugin/pkg/auth/authorizer/node/graph.go``).

A node may read a Secret because a pod on it mounts it, or because a volume does whose claim such a pod uses. Counts are
kept by node, so that a question costs a look-up however many pods share an object.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable

V = TypeVar("V")

#: Kind, namespace (of what has none the empty one) and name.
Ref = tuple[str, str, str]


class PodNeeds(msgspec.Struct, frozen=True):
    """Where a pod runs, and what it needs there."""

    node: str
    refs: frozenset[Ref] = frozenset()


class NodeGraph:
    """Fed object by object; asked by ``belongs``."""

    def __init__(self) -> None:
        self._pods: Final[dict[tuple[str, str], PodNeeds]] = {}
        #: What pods need → node → how many of its pods do.
        self._uses: Final[dict[Ref, Counter[str]]] = {}
        #: PersistentVolume → its claim, and what it needs itself.
        self._volumes: Final[dict[str, tuple[Ref, frozenset[Ref]]]] = {}
        #: What volumes need (and they themselves) → their claims.
        self._claims: Final[dict[Ref, Counter[Ref]]] = {}
        #: Objects of one node alone (VolumeAttachment, ResourceSlice) → the node.
        self._owned: Final[dict[Ref, str]] = {}

    def set_pod(self, namespace: str, name: str, needs: PodNeeds | None) -> None:
        """A pod has changed; None when it has gone or has no node."""
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
        """A PersistentVolume has changed; None when it has gone or is not bound. ``refs``: what it needs."""
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
        """A cluster-wide object belongs to a node; to none (any more) when ``node`` is empty."""
        if node:
            self._owned[kind, "", name] = node
        else:
            self._owned.pop((kind, "", name), None)

    def clear(self, kind: str) -> None:
        """Forget all objects of a kind that is fed: they are about to be told anew."""
        if kind == "Pod":
            for namespace, name in list(self._pods):
                self.set_pod(namespace, name, None)
        elif kind == "PersistentVolume":
            for name in list(self._volumes):
                self.set_volume(name, None)
        else:
            for ref in [ref for ref in self._owned if ref[0] == kind]:
                del self._owned[ref]

    def belongs(self, node: str, kind: str, namespace: str, name: str) -> bool:
        """Whether the object has to do with the node."""
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
