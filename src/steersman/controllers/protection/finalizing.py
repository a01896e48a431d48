"""Writes of finalizers, shared by the controllers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.client.errors import NotFound
from steersman.runtime.finalizers import with_finalizer, without_finalizer

if TYPE_CHECKING:
    from steersman.client.informer import Informer
    from steersman.controllers.shared.base import Shell


async def add(shell: Shell, key: str, informer: Informer[Any], obj: Any, finalizer: str) -> None:
    """Add the finalizer to this version of the object."""
    await _update(shell, key, informer, with_finalizer(obj, finalizer))


async def take_off(shell: Shell, key: str, informer: Informer[Any], obj: Any, finalizer: str) -> None:
    """Remove the finalizer from this version of the object."""
    await _update(shell, key, informer, without_finalizer(obj, finalizer))


async def _update(shell: Shell, key: str, informer: Informer[Any], new: Any) -> None:
    try:
        written = await shell.client.update(new)
    except NotFound:
        return
    shell.own_writes.note(key, informer, written)
