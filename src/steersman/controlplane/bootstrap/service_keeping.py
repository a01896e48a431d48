"""Writes the Service ``kubernetes``, and says which live servers are behind it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.errors import is_already_exists, is_not_found
from steersman.client.errors import ApiError
from steersman.client.resource_types import tree
from steersman.controlplane.bootstrap.kubernetes_service import NAME, NAMESPACE, plan_service

if TYPE_CHECKING:
    from collections.abc import Sequence
    from ipaddress import IPv4Network, IPv6Network

    from steersman.client import Client
    from steersman.controlplane.bootstrap.kubernetes_service import ServiceWish

    Tree = dict[str, Any]

_log: Final = logging.getLogger(__name__)

SERVICES: Final = tree("v1", "Service")


async def correct_service(
    client: Client, wish: ServiceWish, *, ranges: Sequence[IPv4Network | IPv6Network], at_start: bool
) -> bool:
    """Make the Service as wished; whether anything was written. Raises ``ApiError``."""
    try:
        found: Tree | None = await client.get(SERVICES, NAME, namespace=NAMESPACE)
    except ApiError as error:
        if not is_not_found(error):
            raise
        found = None
    correction = plan_service(found, wish, ranges=ranges, at_start=at_start)
    if correction is None:
        return False
    if found is not None:
        _log.warning("the Service kubernetes is put right: %s", correction.why)
    if found is not None and not correction.replaces:
        await client.update(correction.tree)
        return True
    if found is not None:
        await client.delete(SERVICES, NAME, namespace=NAMESPACE, uid=found["metadata"]["uid"])
    try:
        await client.create(correction.tree)
    except ApiError as error:
        if not is_already_exists(error):  # another server was faster
            raise
    return True
