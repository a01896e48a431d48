"""ControllerRevisions of an owner: claim, create for a new template, delete beyond the history limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from lightkube.models.apps_v1 import ControllerRevision

from steersman.client.client import resource_type
from steersman.client.errors import AlreadyExists
from steersman.client.objects import labels_of, name_of, namespace_of, uid_of
from steersman.runtime.dependents import candidates, index_dependents
from steersman.runtime.owners import controller_of, controller_reference
from steersman.runtime.references import ReferenceManager
from steersman.runtime.structs import replaced, with_metadata
from steersman.workloads.revisions import find_present, new_revision, template_data

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from lightkube.models.core_v1 import PodTemplateSpec

    from steersman.apimachinery.selectors import LabelSelector
    from steersman.client.informer import Informer
    from steersman.controllers.shared.base import ManagedController

#: Maximum number of hashes tried in a reconcile.
_COLLISIONS_MAX: Final = 10


class CurrentRevision(NamedTuple):
    """Revision of the current template, with its number."""

    revision: ControllerRevision
    duplicates: tuple[ControllerRevision, ...]
    #: For the owner's status.
    collisions: int


class RevisionControl:
    """Writer of ControllerRevisions for owners of one kind."""

    def __init__(
        self,
        controller: ManagedController,
        owner: type[Any],
        *,
        hash_label: str,
        hashed: Callable[[PodTemplateSpec, int], str],
        keeps_hash_label: bool = False,
    ) -> None:
        """``hashed`` names revisions: the hash of a template after so many collisions.

        ``keeps_hash_label``: a collision changes the hash in the name, but not the one in the label. Upstream:
        ``realHistory.CreateControllerRevision``, which DaemonSets do not use.
        """
        self._controller = controller
        self._client = controller.client
        self._owner = owner
        self._info = resource_type(owner).info
        self._hash_label = hash_label
        self._hashed = hashed
        self._keeps_hash_label = keeps_hash_label
        self.informer: Final[Informer[ControllerRevision]] = controller.informer(ControllerRevision)
        index_dependents(self.informer)

    async def claim(self, owner: Any, selector: LabelSelector, *, releases: bool = True) -> list[ControllerRevision]:
        """Return the owner's revisions that match ``selector``, after adopting. Raises CannotAdopt, ApiError.

        ``releases``: whether others are released. Upstream: ``realHistory.ListControllerRevisions``, which StatefulSets
        use, ignores them.
        """
        references = ReferenceManager(
            self._client, owner, controller_resource=self._owner, dependents=ControllerRevision
        )  # fmt: skip

        def matches(revision: ControllerRevision) -> bool:
            return selector.matches(labels_of(revision))

        revisions = candidates(self.informer.lister, owner)
        return await references.claim(revisions if releases else filter(matches, revisions), matches)

    async def with_hash_labels(self, key: str, revisions: Sequence[ControllerRevision]) -> list[ControllerRevision]:
        """Return the revisions, with their names as hash labels where these were removed.

        Upstream: ``constructHistory`` of DaemonSets.
        """
        labeled: list[ControllerRevision] = []
        for revision in revisions:
            labels = labels_of(revision)
            if self._hash_label not in labels:
                restored = with_metadata(revision, labels=labels | {self._hash_label: name_of(revision)})
                revision = await self._client.update(restored)
                self._controller.own_writes.note(key, self.informer, revision)
            labeled.append(revision)
        return labeled

    async def settle(
        self, key: str, owner: Any, revisions: Sequence[ControllerRevision], *, collisions: int
    ) -> CurrentRevision:  # fmt: skip
        """Return the revision of the current template, created or raised to the highest number if needed."""
        present = find_present(revisions, template_data(owner.spec.template))
        if present.revision is None:
            return await self._create(key, owner, present.number, collisions)
        revision = present.revision
        if revision.revision != present.number:
            revision = await self._client.update(replaced(revision, revision=present.number))
            self._controller.own_writes.note(key, self.informer, revision)
        return CurrentRevision(revision, present.duplicates, collisions)

    async def _create(self, key: str, owner: Any, number: int, collisions: int) -> CurrentRevision:
        reference = controller_reference(owner, api_version=self._info.api_version, kind=self._info.kind)
        first_hash = self._hashed(owner.spec.template, collisions)
        for tried in range(collisions, collisions + _COLLISIONS_MAX):
            name_hash = self._hashed(owner.spec.template, tried)
            revision = new_revision(
                owner, owner.spec.template, controller=reference, number=number, revision_name=name_hash,
                labels={self._hash_label: first_hash if self._keeps_hash_label else name_hash},
            )  # fmt: skip
            try:
                created = await self._client.create(revision)
            except AlreadyExists:
                existing = await self._client.get(ControllerRevision, name_of(revision), namespace=namespace_of(owner))
                if existing.data != revision.data or not self._may_be_taken(existing, owner):
                    continue  # two templates, or two owners, have one hash
                created = existing  # the cache is stale
            self._controller.record_created(key, self.informer, created)
            return CurrentRevision(created, (), tried)
        raise _TooManyCollisions(f"no free name for a revision of {key}")

    def _may_be_taken(self, revision: ControllerRevision, owner: Any) -> bool:
        """Report whether the owner controls the revision or may adopt it.

        Raises _StillOwned while an earlier owner of this name controls it.
        """
        controller = controller_of(revision)
        if controller is None or controller.uid == uid_of(owner):
            return True
        if controller.kind == self._info.kind and controller.name == name_of(owner):
            raise _StillOwned(f"revision {name_of(revision)} still belongs to what had the name before")
        return False

    async def delete(self, revisions: Iterable[ControllerRevision]) -> None:
        """Delete revisions; a missing one is not an error (see ``ManagedController.delete_seen``)."""
        for revision in revisions:
            await self._controller.delete_seen(revision)


class _TooManyCollisions(Exception):  # noqa: N818 — named by the condition
    """No free name was found; retried with other hashes."""


class _StillOwned(Exception):  # noqa: N818 — named by the condition
    """An earlier owner of the same name still controls the revision; retried."""
