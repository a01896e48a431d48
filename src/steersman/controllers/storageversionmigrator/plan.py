"""Next step of a resource's migrations, and their status. Pure rules of ``pkg/controller/storageversionmigrator``."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec
from lightkube.models.meta_v1 import Condition
from lightkube.models.storagemigration_v1beta1 import StorageVersionMigrationStatus

from steersman.apimachinery.errors import (
    is_internal_error,
    is_server_timeout,
    is_service_unavailable,
    is_timeout,
    is_too_many_requests,
)
from steersman.apimachinery.timestamps import format_time
from steersman.client.objects import metadata_field, name_of, resource_version_of, uid_of
from steersman.runtime.conditions import find_condition, is_condition_true, with_condition

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from lightkube.models.storagemigration_v1beta1 import StorageVersionMigration, StorageVersionMigrationSpec

    from steersman.apimachinery.trees import Tree


_RUNNING: Final = "Running"
_SUCCEEDED: Final = "Succeeded"
_FAILED: Final = "Failed"
#: Condition of a definition during the migration of its objects.
_MIGRATING: Final = "StorageMigrating"
#: Delay until a definition created at the same time is served.
_YOUNG: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class MarkRunning:
    """Mark the migration as running."""

    migration: StorageVersionMigration


@dataclass(frozen=True, slots=True)
class RecordResourceVersion:
    """Record the resource version up to which objects are migrated."""

    migration: StorageVersionMigration


@dataclass(frozen=True, slots=True)
class Migrate:
    """Write all objects up to the recorded resource version, then complete the migration."""

    migration: StorageVersionMigration
    version: str


@dataclass(frozen=True, slots=True)
class End:
    """Write the completion status that is missing."""

    migration: StorageVersionMigration
    succeeded: bool


Step = MarkRunning | RecordResourceVersion | Migrate | End


def resource_of(migration: StorageVersionMigration) -> str:
    """Return the group resource: ``pods``, ``deployments.apps``. A CustomResourceDefinition of it has this name."""
    resource = cast("StorageVersionMigrationSpec", migration.spec).resource
    return f"{resource.resource}.{resource.group}" if resource.group else str(resource.resource)


def next_step(migrations: Iterable[StorageVersionMigration]) -> Step | None:
    """Return the next step of a resource's migrations, one at a time, oldest first; None: nothing to do."""
    listed = sorted(
        migrations, key=lambda migration: (metadata_field(migration, "creationTimestamp"), name_of(migration))
    )
    running = [migration for migration in listed if _is(migration, _RUNNING)]
    for migration in running:
        if _has_ended(migration):
            return End(migration, _is(migration, _SUCCEEDED))
    if running:
        version = (running[0].status.resourceVersion if running[0].status else None) or ""
        return Migrate(running[0], version) if version else RecordResourceVersion(running[0])
    waiting = [migration for migration in listed if not _has_ended(migration)]
    return MarkRunning(waiting[0]) if waiting else None


def _is(migration: StorageVersionMigration, type_: str) -> bool:
    return is_condition_true(migration.status.conditions if migration.status else None, type_)


def _has_ended(migration: StorageVersionMigration) -> bool:
    return _is(migration, _SUCCEEDED) or _is(migration, _FAILED)


def is_young(migration: StorageVersionMigration, *, now: datetime) -> bool:
    """Report whether its resource may still be about to be served."""
    return bool(metadata_field(migration, "creationTimestamp") + _YOUNG > now)


def is_passing(error: Exception) -> bool:
    """Report whether the same write may succeed later."""
    rules = (is_internal_error, is_server_timeout, is_service_unavailable, is_timeout, is_too_many_requests)
    return any(rule(error) for rule in rules)


# Status of a migration


def mark_running(migration: StorageVersionMigration, *, now: datetime) -> StorageVersionMigration:
    """Return the migration with condition ``Running``."""
    condition = _condition(_RUNNING, "True", "MigrationRunning", "The migration is running", now)
    return _with(migration, [condition], now)


def record_resource_version(migration: StorageVersionMigration, version: str) -> StorageVersionMigration:
    """Return the migration with the recorded resource version."""
    status = msgspec.structs.replace(migration.status or StorageVersionMigrationStatus(), resourceVersion=version)
    return msgspec.structs.replace(migration, status=status)


def mark_completed(migration: StorageVersionMigration, *, failure: str = "", now: datetime) -> StorageVersionMigration:
    """Return the completed migration; one write removes ``Running`` and sets the result."""
    conditions = [_condition(_RUNNING, "False", "MigrationCompleted", "Migration completed", now)]
    if failure:
        message = f"migration encountered unhandled error: {failure}"
        conditions.append(_condition(_FAILED, "True", "StorageVersionMigrationFailed", message, now))
    elif not _has_ended(migration):
        conditions.append(_condition(_SUCCEEDED, "True", "StorageVersionMigrationSucceeded", "", now))
    return _with(migration, conditions, now)


def _condition(type_: str, status: str, reason: str, message: str, now: datetime) -> Condition:
    return Condition(type=type_, status=status, reason=reason, message=message, lastTransitionTime=now)


def _with(migration: StorageVersionMigration, conditions: list[Condition], now: datetime) -> StorageVersionMigration:
    status = migration.status or StorageVersionMigrationStatus()
    listed = status.conditions
    for condition in conditions:
        about = msgspec.structs.replace(condition, observedGeneration=metadata_field(migration, "generation"))
        listed = with_condition(listed, about, now=format_time(now))
    return msgspec.structs.replace(migration, status=msgspec.structs.replace(status, conditions=listed))


# Writes to objects and their definition


def rewrite(obj: Any, *, api_version: str, kind: str) -> Tree:
    """Return an empty apply patch of an object, which makes the server store it in the current version.

    With UID and resourceVersion: a deleted object is not created again, a recreated one is not changed.
    """
    metadata = {
        "name": name_of(obj), "namespace": metadata_field(obj, "namespace"), "uid": uid_of(obj),
        "resourceVersion": resource_version_of(obj),
    }  # fmt: skip
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {key: value for key, value in metadata.items() if value},
    }


def mark_definition_migrating(definition: Tree, name: str, *, now: datetime) -> Tree:
    """Return the definition's status for server-side apply: ``name`` migrates its objects."""
    return _applied(definition, "True", "MigrationRunning", f"Migration {name} is running", now)


def mark_definition_migrated(definition: Tree, *, succeeded: bool, now: datetime) -> Tree:
    """Return the definition's status for server-side apply: only the storage version is stored, if that is certain.

    It is certain if all objects were migrated and the definition did not change meanwhile.
    """
    if not succeeded:
        return _applied(definition, "False", "MigrationFailed", "The migration has failed", now)
    condition = find_condition((definition.get("status") or {}).get("conditions"), _MIGRATING) or {}
    generation = definition["metadata"].get("generation")
    is_same = bool(condition) and condition.get("observedGeneration") == generation
    message = "The migration has succeeded " + (
        "and the stored versions have been updated"
        if is_same
        else "but the stored versions have not been updated due to a generation mismatch"
    )
    applied = _applied(definition, "False", "MigrationSucceeded", message, now)
    if is_same:
        stored = [version["name"] for version in definition["spec"]["versions"] if version.get("storage")]
        applied["status"]["storedVersions"] = stored
    return applied


def _applied(definition: Tree, status: str, reason: str, message: str, now: datetime) -> Tree:
    metadata = definition["metadata"]
    condition = {
        "type": _MIGRATING,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": format_time(now),
        "observedGeneration": metadata.get("generation"),
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        # In this version alone: its generation is that of the condition.
        "metadata": {"name": metadata["name"], "resourceVersion": metadata["resourceVersion"]},
        "status": {"conditions": [condition]},
    }
