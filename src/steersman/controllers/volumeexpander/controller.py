"""Expander controller: watches claims that grow."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from lightkube.models.core_v1 import PersistentVolume, PersistentVolumeClaim

from steersman.client.changes import Added, Updated
from steersman.client.errors import ClientError
from steersman.controllers.shared.base import ManagedController
from steersman.controllers.volumeexpander.plan import (
    MESSAGE,
    REASON,
    asks_for_more,
    event_type,
    is_bound_to,
    volume_to_expand,
)

if TYPE_CHECKING:
    from steersman.client.changes import Change
    from steersman.controllers.context import ControllerContext


class NotBound(ClientError):  # noqa: N818 — named by the condition
    """The cached volume is not bound to the claim; retried."""


class VolumeExpander(ManagedController):
    """Reconciles PersistentVolumeClaims."""

    name: ClassVar[str] = "persistentvolume-expander-controller"
    queue_name: ClassVar[str] = "volume_expand"
    component: ClassVar[str] = "volume_expand"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._claims = self.watch(PersistentVolumeClaim, when=_is_relevant_change)
        self._volumes = self.informer(PersistentVolume)

    async def reconcile(self, key: str) -> None:
        """Record which component expands the volume. Raises NotBound if the volume is not bound to the claim."""
        claim = self._claims.lister.by_key(key)
        name = volume_to_expand(claim) if claim is not None else ""
        if claim is None or not name:
            return
        volume = self._volumes.lister.get(name)
        if volume is None or not is_bound_to(volume, claim):
            raise NotBound(f"persistent volume {name} is not bound to {key}")
        self.events.event(claim, event_type(volume), REASON, MESSAGE)


def _is_relevant_change(change: Change[PersistentVolumeClaim]) -> bool:
    if isinstance(change, Added):
        return bool(volume_to_expand(change.new))
    return isinstance(change, Updated) and asks_for_more(change.old, change.new)


def build(context: ControllerContext) -> VolumeExpander:
    """Construct the controller."""
    return VolumeExpander(context)
