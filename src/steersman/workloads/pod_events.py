"""Pod event handlers of workload controllers: enqueue the owner, and observe expectations.

Shared by every controller that creates Pods from a template. Upstream: ``addPod``, ``updatePod``, ``deletePod`` of
each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from steersman.client.changes import Added, Deleted, Updated
from steersman.client.objects import key_of, labels_of, namespace_of, uid_of
from steersman.runtime.finalizers import is_being_deleted
from steersman.runtime.owners import stored_controller_of
from steersman.runtime.structs import field
from steersman.workloads.pods import is_ready

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightkube.models.core_v1 import Pod

    from steersman.apimachinery.selectors import LabelSelector
    from steersman.client.changes import Change
    from steersman.client.informer import Informer
    from steersman.runtime.controller import Controller
    from steersman.runtime.expectations import Expectations

OwnerT = TypeVar("OwnerT")


class PodEvents(Generic[OwnerT]):
    """Informer callback of Pods (``changed``). Owners are looked up in their cache, by name and UID."""

    def __init__(
        self,
        controller: Controller,
        owners: Informer[OwnerT],
        expectations: Expectations,
        *,
        kind: str,
        selector_of: Callable[[OwnerT], LabelSelector],
        enqueue: Callable[[OwnerT, Pod], None] | None = None,
        unowned: Callable[[Pod], None] | None = None,
    ) -> None:
        """``kind``: kind of the owners.

        ``enqueue``: called with an owner and its changed Pod; the default queues the owner's key, and again when the
        Pod becomes available. ``unowned``: called for each change of a Pod without owner of this kind.
        """
        self._controller: Final = controller
        self._owners: Final = owners
        self._expectations: Final = expectations
        self._kind: Final = kind
        self._selector_of: Final = selector_of
        self._enqueue: Final = enqueue or self._enqueue_now
        self._unowned: Final = unowned

    def owner_of(self, obj: Any) -> OwnerT | None:
        """Return the controller of a Pod (or another dependent) if it has this controller's kind and exists."""
        reference = stored_controller_of(obj)
        if reference is None or field(reference, "kind") != self._kind:
            return None
        owner = self._owners.lister.get(field(reference, "name") or "", namespace=namespace_of(obj))
        return owner if owner is not None and uid_of(owner) == field(reference, "uid") else None

    def enqueue_adopters(self, orphan: Any) -> None:
        """Enqueue all owners that could adopt the orphan."""
        for owner in self._owners.lister.list(namespace=namespace_of(orphan)):
            if self._selector_of(owner).matches(labels_of(orphan)):
                self._controller.enqueue(owner)

    def changed(self, change: Change[Pod]) -> None:
        """Handle a Pod event. A Pod with a deletionTimestamp counts as deleted, as it may exist for its grace period."""
        match change:
            case Added(new=pod) if not is_being_deleted(pod):
                self._added(pod)
            case Added(new=pod) | Deleted(old=pod):
                self._deleted(pod)
            case Updated(old=old, new=pod):
                self._updated(old, pod)

    def _added(self, pod: Pod) -> None:
        owner = self.owner_of(pod)
        if owner is not None:
            self._expectations.creation_observed(key_of(owner))
            self._enqueue(owner, pod)
        else:
            self._adoptable(pod)

    def _deleted(self, pod: Pod) -> None:
        owner = self.owner_of(pod)
        if owner is not None:
            self._expectations.deletion_observed(key_of(owner), uid_of(pod))
            self._enqueue(owner, pod)
        elif self._unowned is not None:
            self._unowned(pod)

    def _updated(self, old: Pod, pod: Pod) -> None:
        owner, former = self.owner_of(pod), self.owner_of(old)
        if former is not None and (owner is None or uid_of(owner) != uid_of(former)):
            self._controller.enqueue(former)
        if is_being_deleted(pod):
            self._deleted(pod)
        elif owner is not None:
            self._enqueue(owner, pod)
            self._enqueue_when_available(owner, old, pod)
        elif stored_controller_of(pod) or stored_controller_of(old) or labels_of(old) != labels_of(pod):
            self._adoptable(pod)

    def _adoptable(self, pod: Pod) -> None:
        if stored_controller_of(pod) is None:
            self.enqueue_adopters(pod)
        if self._unowned is not None:
            self._unowned(pod)

    def _enqueue_now(self, owner: OwnerT, pod: Pod) -> None:
        self._controller.enqueue(owner)

    def _enqueue_when_available(self, owner: Any, old: Pod, pod: Pod) -> None:
        least = getattr(owner.spec, "minReadySeconds", None)
        if least and not is_ready(old) and is_ready(pod):
            # One second more, as a node's clock may be behind.
            self._controller.enqueue_after(owner, least + 1)
