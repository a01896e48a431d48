"""A valid object of every built-in kind: those of ``e2e/manifests/all-kinds.yaml``, in namespace default."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from steersman.schema.resources import table

if TYPE_CHECKING:
    from steersman.schema.resources import Resource
    from steersman.testing import InProcessAPIServer

_MANIFEST = Path(__file__).parent / "e2e" / "manifests" / "all-kinds.yaml"
OBJECTS: list[dict[str, Any]] = list(yaml.safe_load_all(_MANIFEST.read_text().replace("NAMESPACE", "default")))
#: Stored resources by apiVersion and kind.
BY_KIND = {(resource.api_version, resource.kind): resource for resource in table().resources if resource.key_prefix}


def resource_of(obj: dict[str, Any]) -> Resource:
    """Return the resource of an object."""
    return BY_KIND[obj["apiVersion"], obj["kind"]]


def collection_path(resource: Resource) -> str:
    """Return the path of the objects in namespace default."""
    root = f"/apis/{resource.api_version}" if resource.group else "/api/v1"
    return f"{root}{'/namespaces/default' if resource.namespaced else ''}/{resource.name}"


async def create_all(server: InProcessAPIServer) -> None:
    """Create all objects, and the service account that pods need."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
    for obj in (account, *OBJECTS):
        answer = await server.request("POST", collection_path(resource_of(obj)), body=json.dumps(obj).encode())
        assert answer.code == 201, answer.json()
