"""Writes of the CustomResourceDefinition controller, as a client of the API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.crd.serving import CLEANUP_FINALIZER

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.server.loopback import Answer, Loopback


_PATH: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_MERGE: Final = {"content-type": "application/merge-patch+json"}


class LoopbackDefinitionWriter:
    """Implementation of ``crd.serving.DefinitionWriter`` over the server's loopback client."""

    def __init__(self, client: Loopback) -> None:
        self._client = client

    async def put_status(self, definition: Tree) -> None:
        """Write the status of this version of a definition."""
        path = f"{_PATH}/{definition['metadata']['name']}/status"
        _check(await self._client.request("PUT", path, body=msgspec.json.encode(definition)))

    async def release(self, definition: Tree) -> None:
        """Remove the cleanup finalizer."""
        metadata = definition["metadata"]
        remaining = [name for name in metadata.get("finalizers") or () if name != CLEANUP_FINALIZER]
        patch = {"metadata": {"finalizers": remaining or None, "resourceVersion": metadata["resourceVersion"]}}
        path = f"{_PATH}/{metadata['name']}"
        _check(await self._client.request("PATCH", path, body=msgspec.json.encode(patch), headers=_MERGE))


def _check(answer: Answer) -> Tree:
    """Return the response body. Raises StatusError for an error."""
    tree: Tree = answer.json()
    if answer.code >= 400:
        raise StatusError(tree)
    return tree
