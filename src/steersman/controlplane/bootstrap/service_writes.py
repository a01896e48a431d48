"""Writes of the Service ``kubernetes``."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from steersman.client.errors import ApiError, NotFound
from steersman.client.resource_types import tree
from steersman.controlplane.bootstrap.kubernetes_service import NAME, NAMESPACE, plan_service

if TYPE_CHECKING:
    from collections.abc import Sequence
    from ipaddress import IPv4Network, IPv6Network

    from steersman.apimachinery.trees import Tree
    from steersman.client import Client
    from steersman.controlplane.bootstrap.kubernetes_service import DesiredService


_log: Final = logging.getLogger(__name__)

SERVICES: Final = tree("v1", "Service")


async def correct_service(
    client: Client, desired: DesiredService, *, ranges: Sequence[IPv4Network | IPv6Network], at_start: bool
) -> bool:
    """Create or correct the Service; True if it was written. Raises ``ApiError``."""
    service = await _get_service(client)
    correction = plan_service(service, desired, ranges=ranges, at_start=at_start)
    if correction is None:
        return False
    if service is not None:
        # A start with other options needs no warning.
        _log.log(
            logging.INFO if at_start else logging.WARNING, "the Service kubernetes is corrected: %s", correction.reason
        )
    if service is not None and not correction.replaces:
        await client.update(correction.tree)
        return True
    if service is not None:
        await client.delete(SERVICES, NAME, namespace=NAMESPACE, uid=service["metadata"]["uid"])
    try:
        await client.create(correction.tree)
    except ApiError:
        # Another server has created the Service, or a Service with the address.
        if await _get_service(client) is None:
            raise
    return True


async def _get_service(client: Client) -> Tree | None:
    try:
        return await client.get(SERVICES, NAME, namespace=NAMESPACE)
    except NotFound:
        return None
