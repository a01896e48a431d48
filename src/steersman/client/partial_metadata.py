"""Metadata alone: for informers that do not need the rest of large objects (``metav1.PartialObjectMetadata``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from lightkube.models.meta_v1 import ObjectMeta  # noqa: TC002 — read by msgspec at run time

from steersman.client.client import resource_type
from steersman.client.resource_types import ResourceType

if TYPE_CHECKING:
    from steersman.client.client import What


class PartialObjectMetadata(msgspec.Struct, omit_defaults=True):
    """An object without its spec and status. Its kind is ``PartialObjectMetadata``, whatever the object is."""

    metadata: ObjectMeta
    apiVersion: str = "meta.k8s.io/v1"  # noqa: N815 — as on the wire
    kind: str = "PartialObjectMetadata"


def metadata_only(what: What[Any]) -> ResourceType[PartialObjectMetadata]:
    """The same resource, of which the server sends metadata alone. For get, list, watch and patch."""
    return ResourceType(resource_type(what).info, PartialObjectMetadata, accept_as="PartialObjectMetadata")
