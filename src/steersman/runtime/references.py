"""Claiming dependents by owner reference: adopt matching orphans, release dependents that no longer match.

Upstream: ``pkg/controller/controller_ref_manager.go``.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from steersman.apimachinery.gotext import quote
from steersman.client import PatchType, resource_type
from steersman.client.errors import Invalid, NotFound
from steersman.client.objects import key_of, metadata_field, name_of, namespace_of, resource_version_of, uid_of
from steersman.runtime.claims import Claim, decide_claim
from steersman.runtime.owners import controller_reference, owners_of, without_owner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from steersman.client import Client, ResourceType
    from steersman.client.client import ResourceLike

T = TypeVar("T")

_log = logging.getLogger(__name__)


class CannotAdopt(Exception):  # noqa: N818 — named by the condition
    """The live controller object is deleted, being deleted, or another object of the same name."""


class ReferenceManager(Generic[T]):
    """Claims dependents of one resource for one controller object; created for each reconcile.

    Before the first adoption the controller is read from the server instead of a cache: one that is being deleted, or
    was recreated under the same name, must not adopt (kubernetes/kubernetes#42639).
    """

    def __init__(
        self,
        client: Client,
        controller: Any,
        *,
        controller_resource: ResourceLike[Any],
        dependents: ResourceLike[T],
        finalizers: Sequence[str] = (),
    ) -> None:
        """``finalizers`` are added to adopted objects."""
        self._client = client
        self._controller = controller
        self._controller_resource = resource_type(controller_resource)
        self._dependents = resource_type(dependents)
        self._finalizers = list(finalizers)
        self._may_adopt = False

    async def claim(self, objects: Iterable[T], matches: Callable[[T], bool]) -> list[T]:
        """Return the dependents of the controller, after adopting matching orphans and releasing those that do not match.

        Processes all objects, then raises the first failure (CannotAdopt, ApiError); further failures are logged.
        Upstream: ``PodControllerRefManager.ClaimPods``.
        """
        claimed: list[T] = []
        failure: Exception | None = None
        for obj in objects:
            try:
                if await self._claim_one(obj, matches=matches(obj)):
                    claimed.append(obj)
            except Exception as error:  # noqa: BLE001 — the first is raised below
                if failure is None:
                    failure = error
                else:
                    _log.warning("claiming %s for %s: %s", key_of(obj), key_of(self._controller), error)
        if failure is not None:
            raise failure
        return claimed

    async def _claim_one(self, obj: T, *, matches: bool) -> bool:
        claim = decide_claim(obj, self._controller, matches=matches)
        if claim is Claim.ADOPT:
            return await self.adopt(obj)
        if claim is Claim.RELEASE:
            await self.release(obj)
        return claim is Claim.KEEP

    async def adopt(self, obj: T) -> bool:
        """Make ``obj`` a dependent of the controller; return False if it does not exist. Raises CannotAdopt, ApiError."""
        await self._read_live_owner()
        reference = controller_reference(
            self._controller,
            api_version=self._controller_resource.info.api_version,
            kind=self._controller_resource.info.kind,
        )
        if _has_strategic_merge(self._dependents):
            references = [reference.tree()]
        else:
            references = [owner.tree() for owner in [*owners_of(obj), reference]]
        finalizers = self._added_finalizers(obj)
        return await self._patch(obj, references, finalizers)

    async def release(self, obj: T) -> None:
        """Remove the controller's reference from ``obj``. No error if ``obj`` does not exist or was released already."""
        _log.debug("releasing %s from %s", key_of(obj), key_of(self._controller))
        uid = uid_of(self._controller)
        references: list[dict[str, Any]]
        if _has_strategic_merge(self._dependents):
            references = [{"$patch": "delete", "uid": uid}]
        else:
            references = [owner.tree() for owner in without_owner(owners_of(obj), uid)]
        with suppress(Invalid):  # another object has the name, and its UID does not match
            await self._patch(obj, references, None)

    def _added_finalizers(self, obj: T) -> list[str] | None:
        present = metadata_field(obj, "finalizers") or []
        missing = [name for name in self._finalizers if name not in present]
        if not missing:
            return None
        return missing if _has_strategic_merge(self._dependents) else [*present, *missing]

    async def _patch(self, obj: T, references: list[dict[str, Any]], finalizers: list[str] | None) -> bool:
        """Patch ``metadata`` with the UID as precondition; return False if the object does not exist."""
        metadata: dict[str, Any] = {"uid": uid_of(obj), "ownerReferences": references}
        if finalizers is not None:
            metadata["finalizers"] = finalizers
        strategic = _has_strategic_merge(self._dependents)
        if not strategic:
            metadata["resourceVersion"] = resource_version_of(obj)  # a merge patch replaces the whole list
        try:
            await self._client.patch(
                self._dependents,
                name_of(obj),
                {"metadata": metadata},
                patch_type=PatchType.STRATEGIC if strategic else PatchType.MERGE,
                namespace=namespace_of(obj) or None,
            )
        except NotFound:
            return False
        return True

    async def _read_live_owner(self) -> None:
        if self._may_adopt:
            return
        controller, resource = self._controller, self._controller_resource
        kind, key = resource.info.kind, key_of(controller)
        fresh = await self._client.get(resource, name_of(controller), namespace=namespace_of(controller) or None)
        if uid_of(fresh) != uid_of(controller):
            raise CannotAdopt(
                f"original {kind} {quote(key)} is gone: got uid {uid_of(fresh)}, wanted {uid_of(controller)}"
            )
        deleted_at = metadata_field(fresh, "deletionTimestamp")
        if deleted_at is not None:
            raise CannotAdopt(f"{kind} {quote(key)} has just been deleted at {deleted_at}")
        self._may_adopt = True


def _has_strategic_merge(resource: ResourceType[Any]) -> bool:
    """Report whether the server merges lists of this resource by key; custom resources have no strategic merge patch."""
    return bool(resource.info.definition)
