"""Creation and deletion of a controller's Pods, with events and expectations. Upstream: ``RealPodControl``."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from lightkube.models.core_v1 import Pod

from steersman.apimachinery.errors import is_namespace_terminating
from steersman.client.errors import ApiError
from steersman.client.objects import compare_versions, name_of, namespace_of, resource_version_of, uid_of
from steersman.controllers.shared.base import is_deleted
from steersman.runtime.expectations import Expectations
from steersman.runtime.slowstart import slow_start_batch
from steersman.workloads.pods import is_active

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from steersman.client.informer import Informer
    from steersman.controllers.shared.base import ManagedController

#: Delay before the cache is checked again for own writes, whose events may have been missed.
RECHECK_SECONDS: Final = 5.0


class Created(NamedTuple):
    """Result of creations."""

    pods: tuple[Pod, ...]
    #: First error, except those of a terminating namespace.
    error: Exception | None
    #: Number of such errors.
    failures: int = 0


class Removed(NamedTuple):
    """Result of deletions; missing Pods count as deleted."""

    pods: tuple[Pod, ...]
    error: Exception | None


class PodControl:
    """Writer of Pods for a controller that tracks expectations by owner key (``namespace/name``)."""

    def __init__(self, controller: ManagedController, pods: Informer[Pod]) -> None:
        self._client = controller.client
        self._events = controller.events
        self._pods = pods
        self.expectations: Final = Expectations(controller.clock)
        #: Most recently created Pod by key: a cache that has it has all earlier ones, too.
        self._newest: dict[str, Pod] = {}

    def forget(self, key: str) -> None:
        """Remove the state of a deleted owner."""
        self.expectations.delete(key)
        self._newest.pop(key, None)

    async def is_up_to_date(self, key: str, pods: Iterable[Pod]) -> bool:
        """Report whether the cache has observed the writes of the key; ``pods``: the owner's cached Pods.

        Events may be missed: a Pod that was deleted while the watch was disconnected, or released by another client,
        is not observed. So the cache is checked as well.
        """
        if self.expectations.satisfied(key):
            return True
        creations, deletions = self.expectations.pending(key)
        for uid in deletions - {uid_of(pod) for pod in pods if is_active(pod)}:
            self.expectations.deletion_observed(key, uid)
        newest = self._newest.get(key)
        if creations and newest is not None and await self._has_seen(newest):
            self.expectations.lower(key, creations=creations)
        return self.expectations.satisfied(key)

    async def _has_seen(self, pod: Pod) -> bool:
        try:
            await self._pods.wait_seen(pod, timeout_seconds=0)
        except TimeoutError:
            return False
        return True

    async def create(self, key: str, owner: Any, pods: Sequence[Pod]) -> Created:
        """Create Pods with slow start. The expectations of the key must include them (``expect``)."""
        created: list[Pod] = []

        async def one(number: int) -> None:
            created.append(await self._create_one(key, owner, pods[number]))

        errors: tuple[Exception, ...] = ()
        try:
            errors = (await slow_start_batch(len(pods), one)).errors
        finally:
            self.expectations.lower(key, creations=len(pods) - len(created))
        # In a terminating namespace, creation fails and is unnecessary.
        failures = [error for error in errors if not is_namespace_terminating(error)]
        return Created(tuple(created), failures[0] if failures else None, len(failures))

    async def _create_one(self, key: str, owner: Any, pod: Pod) -> Pod:
        try:
            created = await self._client.create(pod)
        except Exception as error:
            if not is_namespace_terminating(error):
                self._events.event(owner, "Warning", "FailedCreate", f"Error creating: {error}")
            raise
        newest = self._newest.get(key)
        if newest is None or (compare_versions(resource_version_of(created), resource_version_of(newest)) or 0) > 0:
            self._newest[key] = created
        self._events.event(owner, "Normal", "SuccessfulCreate", f"Created pod: {name_of(created)}")
        return created

    async def delete(
        self,
        key: str,
        owner: Any,
        pods: Sequence[Pod],
        *,
        before: Callable[[Pod], Awaitable[object]] | None = None,
    ) -> Removed:
        """Delete Pods concurrently; ``before`` is called for each first. The expectations of the key must include them.

        A Pod that does not exist any more counts as deleted, also when another Pod has its name.
        """
        errors = await asyncio.gather(*(self._delete_one(key, owner, pod, before) for pod in pods))
        deleted = tuple(pod for pod, error in zip(pods, errors, strict=True) if error is None)
        return Removed(deleted, next((error for error in errors if error is not None), None))

    async def _delete_one(
        self, key: str, owner: Any, pod: Pod, before: Callable[[Pod], Awaitable[object]] | None
    ) -> Exception | None:
        try:
            if before is not None:
                await before(pod)
            was_deleted = await self._delete_existing(pod)
        except Exception as error:  # noqa: BLE001 — returned, and raised by the reconcile
            self.expectations.deletion_observed(key, uid_of(pod))
            self._events.event(owner, "Warning", "FailedDelete", f"Error deleting: {error}")
            return error
        if was_deleted:
            self._events.event(owner, "Normal", "SuccessfulDelete", f"Deleted pod: {name_of(pod)}")
        else:
            self.expectations.deletion_observed(key, uid_of(pod))
        return None

    async def _delete_existing(self, pod: Pod) -> bool:
        """Delete a Pod by its UID; return False if it does not exist any more."""
        try:
            await self._client.delete(Pod, name_of(pod), namespace=namespace_of(pod), uid=uid_of(pod))
        except ApiError as error:
            if not await is_deleted(self._client, pod, error):
                raise
            return False
        return True
