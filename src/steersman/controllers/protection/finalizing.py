"""Writes of finalizers, shared by the controllers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.client.errors import NotFound
from steersman.runtime.finalizers import with_finalizer, without_finalizer

if TYPE_CHECKING:
    from steersman.client.informer import Informer
    from steersman.controllers.shared.base import ManagedController


async def add(controller: ManagedController, key: str, informer: Informer[Any], obj: Any, finalizer: str) -> None:
    """Add the finalizer to this version of the object."""
    await _update(controller, key, informer, with_finalizer(obj, finalizer))


async def remove_finalizer(
    controller: ManagedController, key: str, informer: Informer[Any], obj: Any, finalizer: str
) -> None:
    """Remove the finalizer from this version of the object."""
    await _update(controller, key, informer, without_finalizer(obj, finalizer))


async def _update(controller: ManagedController, key: str, informer: Informer[Any], new: Any) -> None:
    try:
        written = await controller.client.update(new)
    except NotFound:
        return
    controller.own_writes.note(key, informer, written)
