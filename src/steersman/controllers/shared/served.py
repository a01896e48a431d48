"""Served resources by discovery, each in its preferred version."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.client import custom, requests
from steersman.client.errors import ApiError, ClientError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.apimachinery.trees import Tree
    from steersman.client import Client, ResourceType


_AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
#: Accepts both forms; a server without aggregated discovery responds with the unaggregated one.
_ACCEPT: Final = f"{_AGGREGATED},application/json"


#: Codes for an unavailable group version: removed, forbidden, or without response of its extension API server. Other errors may
#: be retried.
_UNAVAILABLE: Final = frozenset({403, 404, 503})


@dataclass(frozen=True, slots=True)
class ServedResources:
    """Result of discovery."""

    #: By ``group/version`` (without slash for the core) and kind: all versions.
    kinds: dict[tuple[str, str], ResourceType[Tree]]
    #: By group resource (``pods``, ``deployments.apps``): the preferred version.
    preferred: dict[str, ResourceType[Tree]]
    #: Unreadable group versions and the reasons.
    failed: dict[str, str]
    #: Unreadable group versions that may be served nevertheless: their requests failed.
    interrupted: set[str] = field(default_factory=set)

    def supporting(self, *verbs: str) -> dict[str, ResourceType[Tree]]:
        """Return the preferred resources that support all of the verbs."""
        required_verbs = set(verbs)
        return {
            name: resource_type
            for name, resource_type in self.preferred.items()
            if required_verbs <= set(resource_type.info.verbs)
        }


async def discover(client: Client) -> ServedResources:
    """Read the discovery documents. Raises ClientError if the root documents cannot be read."""
    served = ServedResources({}, {}, {})
    for path in ("/api", "/apis"):
        document = await _read(client, path)
        if document.get("kind") == "APIGroupDiscoveryList":
            for group in document.get("items") or ():
                for version in group.get("versions") or ():
                    _take(served, group["metadata"].get("name", ""), version)
        for name, versions in _plain_groups(document):
            for plain in versions:
                await _take_plain(client, served, f"{name}/{plain}" if name else plain)
    return served


def _take(served: ServedResources, group: str, version: Tree) -> None:
    """Add the resources of a group version; versions come in the order of preference."""
    api_version = f"{group}/{version['version']}" if group else version["version"]
    if version.get("freshness") == "Stale":
        served.failed[api_version] = f"stale GroupVersion discovery: {api_version}"
    for row in version.get("resources") or ():
        kind = (row.get("responseKind") or {}).get("kind", "")
        resource_type: ResourceType[Tree] = custom(
            api_version,
            kind,
            plural=row["resource"],
            namespaced=row.get("scope") == "Namespaced",
            singular=row.get("singularResource", ""),
            verbs=row.get("verbs") or (),
        )
        served.kinds.setdefault((api_version, kind), resource_type)
        served.preferred.setdefault(resource_type.info.group_resource, resource_type)


def _plain_groups(document: Tree) -> Iterable[tuple[str, list[str]]]:
    if document.get("kind") == "APIVersions":
        yield "", list(document.get("versions") or ())
    if document.get("kind") == "APIGroupList":
        for group in document.get("groups") or ():
            versions = [entry["version"] for entry in group.get("versions") or ()]
            first = (group.get("preferredVersion") or {}).get("version")
            yield group["name"], sorted(versions, key=lambda version: version != first)


async def _take_plain(client: Client, served: ServedResources, api_version: str) -> None:
    try:
        document = await _read(client, f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}")
    except ApiError as error:
        if error.code not in _UNAVAILABLE:
            served.interrupted.add(api_version)
        served.failed[api_version] = str(error)
        return
    rows = [
        {
            "resource": row["name"],
            "responseKind": {"kind": row["kind"]},
            "scope": "Namespaced" if row.get("namespaced") else "Cluster",
            "singularResource": row.get("singularName", ""),
            "verbs": row.get("verbs") or (),
        }
        for row in document.get("resources") or ()
        if "/" not in row["name"]
    ]
    group, _, version = api_version.rpartition("/")
    _take(served, group, {"version": version, "resources": rows})


async def _read(client: Client, path: str) -> Tree:
    answer = await client.raw(requests.read(path, accept=_ACCEPT))
    try:
        document = msgspec.json.decode(answer.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ClientError(f"no discovery document at {path}: {error}") from error
    return document if isinstance(document, dict) else {}
