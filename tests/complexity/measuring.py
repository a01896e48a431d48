"""CPU time that an API server in this process spends on requests about objects of growing size."""

from __future__ import annotations

import gc
import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import yaml
from tests.complexity.growing import grown, growths

from steersman.schema.loader import struct_for
from steersman.schema.resources import table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.complexity.growing import Growth

    from steersman.apimachinery.typemodel import Struct
    from steersman.schema.resources import Resource
    from steersman.testing import InProcessAPIServer

_MANIFESTS = Path(__file__).parents[1] / "e2e" / "manifests" / "all-kinds.yaml"
#: Upstream's limit of a request body, less a margin for the request's envelope.
_BODY_MAX = 3 * 1024 * 1024 - 4096
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@dataclass(frozen=True)
class Kind:
    """One built-in kind with a valid object of it."""

    resource: Resource
    struct: Struct
    tree: dict[str, Any]

    @property
    def collection(self) -> str:
        """Return the path of its objects in namespace default."""
        resource = self.resource
        root = f"/apis/{resource.api_version}" if resource.group else "/api/v1"
        return f"{root}{'/namespaces/default' if resource.namespaced else ''}/{resource.name}"


@dataclass(frozen=True)
class Cost:
    """CPU seconds of each request about one grown object."""

    size: int
    seconds: dict[str, float]
    codes: dict[str, int]

    @property
    def slowest(self) -> str:
        """Return the request that cost most."""
        return max(self.seconds, key=self.seconds.__getitem__)


def kinds() -> list[Kind]:
    """Return every kind of the manifest of all kinds."""
    resources = {(r.api_version, r.kind): r for r in table().resources if r.key_prefix}
    result = []
    for tree in yaml.safe_load_all(_MANIFESTS.read_text().replace("NAMESPACE", "default")):
        resource = resources[tree["apiVersion"], tree["kind"]]
        struct = struct_for(resource.group, resource.version, resource.kind)
        result.append(Kind(resource, struct, tree))
    # Pods first: the pod spec is grown once, below the kind that is validated most.
    return sorted(result, key=lambda kind: kind.resource.kind != "Pod")


def cases() -> Iterator[tuple[Kind, Growth]]:
    """Yield each (kind, field) once; a type that several kinds share is grown below the first of them."""
    seen: set[tuple[str, str]] = set()
    for kind in kinds():
        for growth in growths(kind.struct, seen=seen):
            yield kind, growth


async def measure(
    server: InProcessAPIServer, kind: Kind, growth: Growth, size: int, *, only_create: bool = False
) -> Cost | None:
    """Create, read, update, patch, apply and delete an object; None when its body is over the limit."""
    if _estimated_bytes(kind, growth, size) > _BODY_MAX:
        return None
    tree = grown(kind.tree, kind.struct, growth, size)
    name = f"grown-{size}"
    if isinstance(tree.get("metadata"), dict) and growth.path != ("metadata", "name"):
        tree["metadata"]["name"] = name
    body = msgspec.json.encode(tree)
    if len(body) > _BODY_MAX:
        return None
    seconds: dict[str, float] = {}
    codes: dict[str, int] = {}
    gc.collect(1)  # a collection in the middle of a request would be counted as its cost

    async def timed(label: str, method: str, path: str, payload: bytes | None, **headers: str) -> int:
        started_at = time.process_time()
        answer = await server.request(
            method, path, body=payload, headers={key.replace("_", "-"): value for key, value in headers.items()}
        )
        seconds[label] = time.process_time() - started_at
        codes[label] = answer.code
        return answer.code

    path = f"{kind.collection}/{name}"
    json_type = {"content_type": "application/json"}
    query = "?dryRun=All" if only_create else ""
    created = await timed("create", "POST", f"{kind.collection}{query}", body, **json_type)
    if created == 201 and not only_create:
        tree["metadata"]["labels"] = {"grown": "again"}
        await timed("get as table", "GET", path, None, accept=_TABLE)
        await timed("update", "PUT", path, msgspec.json.encode(tree), **json_type)
        patch = msgspec.json.encode({"metadata": {"labels": {"grown": "patched"}}})
        await timed("merge patch", "PATCH", path, patch, content_type="application/merge-patch+json")
        apply = msgspec.json.encode(tree)
        await timed(
            "apply",
            "PATCH",
            f"{path}?fieldManager=grower&force=true",
            apply,
            content_type="application/apply-patch+yaml",
        )
        await timed("delete", "DELETE", f"{path}?gracePeriodSeconds=0", None)
        await server.request(
            "PATCH",
            path,
            body=b'{"metadata":{"finalizers":null}}',
            headers={"content-type": "application/merge-patch+json"},
        )
    return Cost(size, seconds, codes)


def _estimated_bytes(kind: Kind, growth: Growth, size: int) -> float:
    """Return roughly how long a body with the grown field is, without building it."""
    few, more = (len(msgspec.json.encode(grown(kind.tree, kind.struct, growth, count))) for count in (8, 16))
    return few + (more - few) / 8 * size


def exponent(small: Cost, large: Cost, label: str) -> float:
    """Return ``e`` of ``seconds ~ size ** e`` between two sizes."""
    first, second = max(small.seconds.get(label, 0.0), 1e-5), max(large.seconds[label], 1e-5)
    return math.log(second / first) / math.log(large.size / small.size)


async def started(server: InProcessAPIServer) -> InProcessAPIServer:
    """Prepare a server for measurements: admission of Pods wants a service account."""
    account = msgspec.json.encode({"metadata": {"name": "default"}})
    await server.request("POST", "/api/v1/namespaces/default/serviceaccounts", body=account)
    return server
