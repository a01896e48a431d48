"""Creation of system namespaces that are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.client.errors import AlreadyExists, ClientError
from steersman.client.resource_types import tree
from steersman.controlplane.bootstrap.errors import BootstrapError
from steersman.controlplane.bootstrap.namespaces import plan_namespaces

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.client import Client

NAMESPACES: Final = tree("v1", "Namespace")


async def create_namespaces(client: Client, names: Iterable[str]) -> None:
    """Create missing namespaces. Raises ``ClientError`` if namespaces cannot be listed, and, after all attempts,
    ``BootstrapError`` if some are refused.
    """
    existing = [namespace["metadata"]["name"] for namespace in await client.list(NAMESPACES)]
    failures = []
    for namespace in plan_namespaces(names, existing):
        try:
            await client.create(namespace)
        except AlreadyExists:
            continue
        except ClientError as error:
            failures.append(f"{namespace['metadata']['name']}: {error}")
    if failures:
        raise BootstrapError(f"unable to create required kubernetes system namespace {'; '.join(failures)}")
