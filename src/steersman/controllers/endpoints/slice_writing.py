"""Writes of EndpointSlices, for both controllers of slices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.errors import is_namespace_terminating
from steersman.client.errors import ApiError
from steersman.client.objects import annotations_of, labels_of, namespace_of
from steersman.controllers.endpoints.services import MANAGED_BY, SERVICE_NAME
from steersman.runtime.structs import replaced, with_metadata

if TYPE_CHECKING:
    from lightkube.models.discovery_v1 import EndpointSlice

    from steersman.client.informer import Informer
    from steersman.controllers.endpoints.packing import Changes
    from steersman.controllers.shared.base import ManagedController

#: Name of the index with values of ``key_of_slice``.
BY_SERVICE: Final = "service"


async def write_slices(
    controller: ManagedController,
    key: str,
    informer: Informer[EndpointSlice],
    changes: Changes,
    *,
    notes: dict[str, str | None],
) -> None:
    """Create, update and delete slices; ``notes``: annotations to set on all written slices, or to remove if None."""
    for new in changes.create:
        try:
            controller.record_created(key, informer, await controller.client.create(_as_written(new, notes)))
        except ApiError as error:
            if is_namespace_terminating(error):
                return
            raise
    for changed in changes.update:
        controller.own_writes.note(key, informer, await controller.client.update(_as_written(changed, notes)))
    for old in changes.delete:
        await controller.delete_seen(old)


def _as_written(slice_: EndpointSlice, notes: dict[str, str | None]) -> EndpointSlice:
    """Return the slice without empty endpoints: the writer of an empty list would own the field."""
    merged = {key: value for key, value in {**annotations_of(slice_), **notes}.items() if value is not None}
    return with_metadata(replaced(slice_, endpoints=slice_.endpoints or None), annotations=merged or None)


def key_of_slice(slice_: EndpointSlice) -> list[str]:
    """Return the key of the slice's Service."""
    name = labels_of(slice_).get(SERVICE_NAME)
    return [f"{namespace_of(slice_)}/{name}"] if name else []


def of_service(informer: Informer[EndpointSlice], key: str, *, manager: str) -> list[EndpointSlice]:
    """Return the manager's slices of a Service."""
    return [
        slice_ for slice_ in informer.lister.by_index(BY_SERVICE, key) if labels_of(slice_).get(MANAGED_BY) == manager
    ]
