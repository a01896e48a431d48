"""Graph of owners and dependents, built from watch events. Pure: changes in, nodes to process out.

An owner that is only known by references is a *virtual* node, whose existence must be verified. References may
be wrong (another kind, name or namespace than the object of that UID has); so a node's *identity* is the observed one,
or of a virtual node that of a reference, and a dependent with another reference is processed on its own.

Upstream: ``pkg/controller/garbagecollector/graph_builder.go``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.runtime.owners import Owner

#: Finalizers with which deletion waits for the dependents' deletion, or for their release.
FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"


class Identity(NamedTuple):
    """Coordinates and UID of an object; the namespace is empty for cluster-scoped ones."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str

    def __str__(self) -> str:
        """Format as in events."""
        name = f"namespace: {self.namespace}, name: {self.name}, uid: {self.uid}"
        return f"[{self.api_version}/{self.kind}, {name}]"


@dataclass(frozen=True, slots=True)
class ObservedObject:
    """Metadata of an object that the graph needs."""

    identity: Identity
    owners: tuple[Owner, ...] = ()
    finalizers: tuple[str, ...] = ()
    being_deleted: bool = False

    def waits_for(self, finalizer: str) -> bool:
        """Report whether the object is being deleted and waits for that finalizer."""
        return self.being_deleted and finalizer in self.finalizers


@dataclass(slots=True, eq=False)
class Node:
    """Object in the graph."""

    identity: Identity
    owners: tuple[Owner, ...] = ()
    #: UIDs of nodes with an owner reference to this node,
    #: in order of observation, so that processing is deterministic.
    dependents: dict[str, None] = field(default_factory=dict)
    virtual: bool = False
    being_deleted: bool = False
    #: True while it waits for its dependents in foreground deletion.
    deleting_dependents: bool = False

    def owner(self, uid: str) -> Owner | None:
        """Return the owner reference with that UID."""
        return next((owner for owner in self.owners if owner.uid == uid), None)


@dataclass(slots=True)
class Effects:
    """Nodes to process after a change."""

    #: UIDs of objects to process: possible garbage, or deletions that may continue.
    delete: dict[str, None] = field(default_factory=dict)
    #: UIDs whose dependents are orphaned.
    orphan: dict[str, None] = field(default_factory=dict)
    #: Virtual nodes with another identity, to be processed after a delay.
    later: dict[str, None] = field(default_factory=dict)
    #: Owners known not to exist.
    absent: list[Identity] = field(default_factory=list)
    #: Dependents with a reference across namespaces.
    invalid: list[tuple[Identity, Identity]] = field(default_factory=list)


class Graph:
    """Invariant: ``dependents`` of a node are the UIDs of all nodes that have an owner reference to it.

    When an observed node is deleted, its dependents are processed once; a later reference creates a virtual node.
    """

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}

    def has_observed(self, uid: str) -> bool:
        """Report whether the object was observed; if so, an update without changed owners, finalizers or deletion has no effect."""
        node = self.nodes.get(uid)
        return node is not None and not node.virtual

    def observe(self, observed: ObservedObject, old: ObservedObject | None) -> Effects:
        """Process an added or updated object."""
        effects = Effects()
        node = self.nodes.get(observed.identity.uid)
        if node is not None and node.virtual:
            self._materialize(node, observed.identity, effects)
        if node is None:
            node = Node(
                observed.identity,
                observed.owners,
                being_deleted=observed.being_deleted,
                deleting_dependents=observed.waits_for(FOREGROUND),
            )
            self.nodes[observed.identity.uid] = node
            self._link(node, observed.owners, effects)
        else:
            self._change_owners(node, observed.owners, effects)
            node.being_deleted = node.being_deleted or observed.being_deleted
        self._follow_deletion(node, observed, old, effects)
        return effects

    def forget(self, identity: Identity) -> Effects:
        """Process the deletion of an object that an informer observed."""
        effects = Effects()
        node = self.nodes.get(identity.uid)
        if node is not None:
            self._remove(node, identity, effects)
        return effects

    def remove_absent(self, identity: Identity) -> Effects:
        """Remove a virtual node that the server does not have."""
        effects = Effects()
        node = self.nodes.get(identity.uid)
        if node is None:
            return effects
        if not node.virtual and node.identity == identity:
            self._remove(node, identity, effects)
            return effects
        matching, others = self._split_dependents(node, identity)
        if node.virtual and not others:
            self._remove(node, identity, effects)
            return effects
        if matching:
            effects.absent.append(identity)
            effects.delete.update(dict.fromkeys(dependent.identity.uid for dependent in matching))
        if node.virtual and node.identity == identity:
            other = self._other_identity(node, others, identity)
            if other is not None:
                node.identity = other
                effects.later[identity.uid] = None
        return effects

    def dependents(self, uid: str) -> list[Node]:
        """Return the nodes with an owner reference to this UID."""
        node = self.nodes.get(uid)
        return [] if node is None else [self.nodes[dependent] for dependent in node.dependents]

    def blocking(self, uid: str) -> list[Node]:
        """Return the dependents that block foreground deletion."""
        return [
            dependent
            for dependent in self.dependents(uid)
            if any(owner.uid == uid and owner.block_owner_deletion for owner in dependent.owners)
        ]

    def waits_for(self, uid: str, other: str) -> bool:
        """Report whether the foreground deletion of ``uid`` waits, directly or transitively, for ``other``."""
        visited, ahead = set(), [uid]
        while ahead:
            current = ahead.pop()
            node = self.nodes.get(current)
            if current in visited or node is None or not node.deleting_dependents:
                continue
            if current == other:
                return True
            visited.add(current)
            ahead.extend(blocker.identity.uid for blocker in self.blocking(current))
        return False

    # Helpers

    def _materialize(self, node: Node, identity: Identity, effects: Effects) -> None:
        """Turn a virtual node into an observed one; dependents with other coordinates are processed."""
        if node.identity != identity:
            for dependent in self._split_dependents(node, identity)[1]:
                if identity.namespace and dependent.identity.namespace != identity.namespace:
                    self._report(dependent, identity.uid, effects)
                effects.delete[dependent.identity.uid] = None
            node.identity = identity
        node.virtual = False

    def _link(self, node: Node, owners: Iterable[Owner], effects: Effects) -> None:
        suspicious = False
        for owner in owners:
            owner_node = self.nodes.get(owner.uid)
            if owner_node is None:
                claimed = _claimed(owner, node.identity.namespace)
                self.nodes[owner.uid] = Node(claimed, dependents={node.identity.uid: None}, virtual=True)
                effects.delete[owner.uid] = None
                continue
            owner_node.dependents[node.identity.uid] = None
            foreign = bool(owner_node.identity.namespace) and owner_node.identity.namespace != node.identity.namespace
            if foreign and not owner_node.virtual:
                self._report(node, owner.uid, effects)
            suspicious = suspicious or foreign or not _fits(owner, owner_node.identity)
        if suspicious:
            effects.delete[node.identity.uid] = None

    def _change_owners(self, node: Node, owners: tuple[Owner, ...], effects: Effects) -> None:
        if node.owners == owners:
            return
        before = {owner.uid: owner for owner in node.owners}
        after = {owner.uid: owner for owner in owners}
        for uid, owner in before.items():
            unblocked = owner.block_owner_deletion and not (uid in after and after[uid].block_owner_deletion)
            if unblocked and uid in self.nodes:
                effects.delete[uid] = None
        node.owners = owners
        self._link(node, [owner for uid, owner in after.items() if uid not in before], effects)
        for uid in before.keys() - after.keys():
            self._unlink(node, uid)

    def _unlink(self, node: Node, owner_uid: str) -> None:
        """Remove an owner edge; a virtual node without dependents is removed."""
        owner = self.nodes.get(owner_uid)
        if owner is not None:
            owner.dependents.pop(node.identity.uid, None)
            if owner.virtual and not owner.dependents:
                del self.nodes[owner_uid]

    def _follow_deletion(
        self, node: Node, observed: ObservedObject, old: ObservedObject | None, effects: Effects
    ) -> None:
        uid = observed.identity.uid
        if observed.waits_for(ORPHAN) and not (old is not None and old.waits_for(ORPHAN)):
            effects.orphan[uid] = None
        elif observed.waits_for(FOREGROUND) and not (old is not None and old.waits_for(FOREGROUND)):
            node.deleting_dependents = True
            effects.delete.update(node.dependents)
            effects.delete[uid] = None

    def _remove(self, node: Node, identity: Identity, effects: Effects) -> None:
        uid = node.identity.uid
        for owner in node.owners:
            owner_node = self.nodes.get(owner.uid)
            if owner_node is not None and owner_node.deleting_dependents:
                effects.delete[owner.uid] = None
            self._unlink(node, owner.uid)
        if node.dependents:
            effects.absent.append(identity)
            effects.delete.update(node.dependents)
        del self.nodes[uid]

    def _split_dependents(self, node: Node, identity: Identity) -> tuple[list[Node], list[Node]]:
        """Return dependents whose reference has this identity, and the others."""
        matching: list[Node] = []
        others: list[Node] = []
        for uid in node.dependents:
            dependent = self.nodes[uid]
            owner = dependent.owner(identity.uid)
            fits = owner is not None and _fits(owner, identity)
            near = not identity.namespace or dependent.identity.namespace == identity.namespace
            (matching if fits and near else others).append(dependent)
        return matching, others

    def _other_identity(self, node: Node, others: list[Node], not_this: Identity) -> Identity | None:
        """Return the next identity that dependents give a virtual node, in rotation."""
        claims: list[Identity] = []
        for dependent in others:
            owner = dependent.owner(node.identity.uid)
            if owner is not None:
                claims.append(_claimed(owner, dependent.identity.namespace))
        claims = sorted({claim for claim in claims if claim != not_this})
        return next((claim for claim in claims if claim > not_this), claims[0] if claims else None)

    def _report(self, dependent: Node, owner_uid: str, effects: Effects) -> None:
        owner = dependent.owner(owner_uid)
        if owner is not None:
            effects.invalid.append((dependent.identity, _claimed(owner, dependent.identity.namespace)))


def _claimed(owner: Owner, namespace: str) -> Identity:
    return Identity(owner.api_version, owner.kind, namespace, owner.name, owner.uid)


def _fits(owner: Owner, identity: Identity) -> bool:
    return (owner.api_version, owner.kind, owner.name, owner.uid) == (
        identity.api_version, identity.kind, identity.name, identity.uid,
    )  # fmt: skip
