"""``AlwaysAdmit`` and ``AlwaysDeny``: the two plugins without a mind, kept for those who test with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from steersman.apiserver.admission.interface import Attributes, Operation, Plugin

if TYPE_CHECKING:
    from steersman.schema.resources import Resource


class AlwaysAdmit(Plugin):
    """Lets everything pass, as all writes do without it."""

    name: ClassVar[str] = "AlwaysAdmit"

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """Nothing needs to be asked."""
        return False


class AlwaysDeny(Plugin):
    """Refuses every write."""

    name: ClassVar[str] = "AlwaysDeny"

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """All writes, and what would be handed on to nodes."""
        return True

    async def admit(self, attributes: Attributes) -> None:
        """Raises 403."""
        raise attributes.forbidden("admission control is denying all modifications")
