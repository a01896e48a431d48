"""``AlwaysAdmit`` and ``AlwaysDeny``, for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from steersman.apiserver.admission.interface import Attributes, Operation, Plugin

if TYPE_CHECKING:
    from steersman.schema.resources import Resource


class AlwaysAdmit(Plugin):
    """Admit every write."""

    name: ClassVar[str] = "AlwaysAdmit"

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """Return False: no write needs a check."""
        return False


class AlwaysDeny(Plugin):
    """Reject every write."""

    name: ClassVar[str] = "AlwaysDeny"

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """True for all writes and connects."""
        return True

    async def admit(self, attributes: Attributes) -> None:
        """Raise 403."""
        raise attributes.forbidden("admission control is denying all modifications")
