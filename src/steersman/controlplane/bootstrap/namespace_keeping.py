"""Makes the namespaces that are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.errors import is_already_exists
from steersman.client.errors import ApiError
from steersman.client.resource_types import tree
from steersman.controlplane.bootstrap.namespaces import plan_namespaces

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.client import Client

NAMESPACES: Final = tree("v1", "Namespace")


async def make_namespaces(client: Client, names: Iterable[str]) -> None:
    """Make those that are missing. Raises ``ApiError``, ``ClientError``."""
    found = await client.list(NAMESPACES)
    for wanted in plan_namespaces(names, [one["metadata"]["name"] for one in found]):
        try:
            await client.create(wanted)
        except ApiError as error:
            if not is_already_exists(error):
                raise
