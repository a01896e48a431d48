"""``DenyServiceExternalIPs``: rejects new ``externalIPs`` of Services (CVE-2020-8554)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from steersman.apiserver.admission.interface import Attributes, Operation, Plugin

if TYPE_CHECKING:
    from steersman.schema.resources import Resource


class DenyServiceExternalIPs(Plugin):
    """Services; addresses can be removed, not added."""

    name: ClassVar[str] = "DenyServiceExternalIPs"

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """True for creates and updates of Services."""
        is_service = resource.group_resource == "services" and not subresource
        return is_service and operation in (Operation.CREATE, Operation.UPDATE)

    async def validate(self, attributes: Attributes) -> None:
        """Raise 403 for added addresses."""
        if not _addresses(attributes.object) <= _addresses(attributes.old_object):
            raise attributes.forbidden("Use of external IPs is denied by admission control")


def _addresses(service: dict[str, Any] | None) -> set[str]:
    return set(((service or {}).get("spec") or {}).get("externalIPs") or ())
