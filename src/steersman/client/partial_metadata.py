"""``metav1.PartialObjectMetadata``: informers and reads of metadata only, for large objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from lightkube.models.meta_v1 import ObjectMeta  # noqa: TC002 — read by msgspec at run time

from steersman.client.client import resource_type
from steersman.client.resource_types import ResourceType

if TYPE_CHECKING:
    from steersman.client.client import ResourceLike


class PartialObjectMetadata(msgspec.Struct, omit_defaults=True):
    """An object without spec and status. Its kind is ``PartialObjectMetadata`` for every resource."""

    metadata: ObjectMeta
    apiVersion: str = "meta.k8s.io/v1"  # noqa: N815 — as on the wire
    kind: str = "PartialObjectMetadata"


def metadata_only(resource: ResourceLike[Any]) -> ResourceType[PartialObjectMetadata]:
    """Return the resource with metadata-only objects, for get, list, watch and patch."""
    return ResourceType(resource_type(resource).info, PartialObjectMetadata, accept_as="PartialObjectMetadata")
