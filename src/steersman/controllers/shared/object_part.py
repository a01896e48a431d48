"""The part of every object that is worth keeping when objects of all kinds are watched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from lightkube.models.meta_v1 import OwnerReference  # noqa: TC002 — read by msgspec at run time

from steersman.client import ResourceType, resource_type

if TYPE_CHECKING:
    from steersman.client.client import ResourceLike


class MetadataPart(msgspec.Struct):
    """What is kept of metadata; the rest, mostly who owns which field, is not even decoded."""

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
    """An object of any kind, as far as it is kept."""

    metadata: MetadataPart


def object_part(what: ResourceLike[Any]) -> ResourceType[ObjectPart]:
    """The same resource, of which the server sends metadata alone, and a part of that is read."""
    return ResourceType(resource_type(what).info, ObjectPart, accept_as="PartialObjectMetadata")
