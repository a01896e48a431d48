"""Partial decoding of objects of any kind: only the metadata that controllers use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from lightkube.models.meta_v1 import OwnerReference  # noqa: TC002 — read by msgspec at run time

from steersman.client import ResourceType, resource_type

if TYPE_CHECKING:
    from steersman.client.client import ResourceLike


class MetadataPart(msgspec.Struct):
    """Decoded metadata; other fields, mainly ``managedFields``, are skipped."""

    # ruff: noqa: N815 — as on the wire
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resourceVersion: str = ""
    deletionTimestamp: str | None = None
    deletionGracePeriodSeconds: int | None = None
    finalizers: list[str] | None = None
    ownerReferences: list[OwnerReference] | None = None


class ObjectPart(msgspec.Struct):
    """Partially decoded object of any kind."""

    metadata: MetadataPart


def object_part(resource: ResourceLike[Any]) -> ResourceType[ObjectPart]:
    """Return the resource type that requests metadata only and decodes a part of it."""
    return ResourceType(resource_type(resource).info, ObjectPart, accept_as="PartialObjectMetadata")
