"""Migration controller: one migration at a time per resource, step by step."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Final, assert_never

from lightkube.models.storagemigration_v1beta1 import StorageVersionMigration

from steersman.client import tree, typed
from steersman.client.errors import ApiError, ClientError, Conflict, MethodNotAllowed, NotFound
from steersman.client.objects import compare_versions, name_of, resource_version_of
from steersman.client.partial_metadata import metadata_only
from steersman.controllers.shared.base import ManagedController
from steersman.controllers.shared.served import discover
from steersman.controllers.storageversionmigrator import plan
from steersman.runtime.result import Result

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.client import ResourceType
    from steersman.controllers.context import ControllerContext


#: Beta and off by default in 1.36: served only with ``--runtime-config``.
MIGRATIONS: Final[ResourceType[StorageVersionMigration]] = typed(StorageVersionMigration)
_DEFINITIONS: Final = tree("apiextensions.k8s.io/v1", "CustomResourceDefinition")
_BY_RESOURCE: Final = "migrated resource"
#: Field manager of migration conditions in definitions, upstream's name.
_RUNNER: Final = "migration-runner-controller"
_WORKERS: Final = 5
#: Delay while a resource is not served.
_LOOK_AGAIN_SECONDS: Final = 5.0


class _Failure(Exception):  # noqa: N818 — the migration's message, not an error of the controller
    """The migration failed with this message."""


class StorageVersionMigrator(ManagedController):
    """Reconciles group resources. Each reconcile is one step, whose write triggers the next."""

    name: ClassVar[str] = "storage-version-migrator-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, workers=_WORKERS)
        self._migrations = self.watch(MIGRATIONS, keys=_resources)
        self._migrations.add_index(_BY_RESOURCE, _resources)

    async def reconcile(self, key: str) -> Result | None:
        """Execute the next step for a resource."""
        step = plan.next_step(self._migrations.lister.by_index(_BY_RESOURCE, key))
        match step:
            case None:
                return None
            case plan.MarkRunning(migration):
                await self._mark(
                    key, lambda obj: plan.mark_definition_migrating(obj, name_of(migration), now=self.now())
                )
                await self._write(key, plan.mark_running(migration, now=self.now()))
            case plan.End(migration, succeeded):
                await self._end(key, migration, succeeded=succeeded)
            case plan.RecordResourceVersion(migration) | plan.Migrate(migration):
                try:
                    return await self._work(key, step)
                except _Failure as failure:
                    await self._end(key, migration, succeeded=False, failure=str(failure))
            case _:
                assert_never(step)
        return None

    async def _work(self, key: str, step: plan.RecordResourceVersion | plan.Migrate) -> Result | None:
        """Raise _Failure."""
        migration = step.migration
        resource = await self._resource(key)
        if resource is None:
            if not plan.is_young(migration, now=self.clock.now()):
                raise _Failure("unable to obtain GVR from discovery")
            return Result(requeue_after_seconds=_LOOK_AGAIN_SECONDS)
        try:
            if isinstance(step, plan.Migrate):
                # Unpaged, because a continue token may expire while a page is written.
                await self._rewrite(resource, step.version, await self.client.list_all(metadata_only(resource)))
                await self._end(key, migration, succeeded=True)
            else:
                page = await self.client.list(metadata_only(resource), limit=1)
                await self._write(key, plan.record_resource_version(migration, page.resource_version))
        except MethodNotAllowed as error:
            raise _Failure(str(error)) from error
        return None

    async def _resource(self, key: str) -> ResourceType[Tree] | None:
        """Return the resource in the preferred version; None if it is not served."""
        served = await discover(self.client)
        resource_type = served.preferred.get(key)
        group = key.partition(".")[2]
        if resource_type is None and any(version.rpartition("/")[0] == group for version in served.failed):
            raise ClientError(f"it is not known whether {key} is served: {served.failed}")
        return resource_type

    async def _rewrite(self, resource: ResourceType[Tree], version: str, listed: Sequence[Any]) -> None:
        info = resource.info
        for obj in listed:
            order = compare_versions(resource_version_of(obj), version)
            if order is None:
                raise _Failure(f"resource versions {resource_version_of(obj)!r} and {version!r} cannot be compared")
            if order > 0:  # written since
                continue
            try:
                written = plan.rewrite(obj, api_version=info.api_version, kind=info.kind)
                await self.client.apply(written, field_manager=self.name)
            except (Conflict, NotFound):
                # ``plan.rewrite`` sends UID and version: a conflict means that the object was written since, so that it
                # has the storage version, or deleted. Upstream: ``sync`` of ``pkg/controller/storageversionmigrator``.
                continue
            except ApiError as error:
                if plan.is_passing(error):
                    raise
                raise _Failure(str(error)) from error

    async def _end(self, key: str, migration: StorageVersionMigration, *, succeeded: bool, failure: str = "") -> None:
        """Complete a migration; the definition's status first, since a completed migration is not reconciled again."""
        await self._mark(
            key, lambda migration: plan.mark_definition_migrated(migration, succeeded=succeeded, now=self.now())
        )
        await self._write(key, plan.mark_completed(migration, failure=failure, now=self.now()))

    async def _mark(self, key: str, applied: Callable[[Tree], Tree]) -> None:
        """Update the status of the resource's CustomResourceDefinition, if it has one."""
        try:
            definition = await self.client.get(_DEFINITIONS, key)
        except NotFound:
            return
        await self.client.apply(applied(definition), field_manager=_RUNNER, force=True, subresource="status")

    async def _write(self, key: str, new: StorageVersionMigration) -> None:
        with suppress(NotFound):
            self.own_writes.note(key, self._migrations, await self.client.update_status(new))


def _resources(migration: StorageVersionMigration) -> tuple[str]:
    return (plan.resource_of(migration),)


def build(context: ControllerContext) -> StorageVersionMigrator:
    """Construct the controller."""
    return StorageVersionMigrator(context)
