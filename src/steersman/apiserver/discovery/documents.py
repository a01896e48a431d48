"""Discovery documents as trees: ``APIVersions``, ``APIGroupList``, ``APIGroup``, ``APIResourceList`` and the aggregated
``APIGroupDiscoveryList`` (KEP-3352).
"""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.discovery.catalog import Group, GroupVersion
    from steersman.schema.resources import Resource, Subresource


def api_versions(group: Group, *, server_address: str) -> Tree:
    """Return the document of ``/api``: versions of the core group. Like upstream's, it has no apiVersion."""
    return {
        "kind": "APIVersions",
        "versions": [v.version for v in group.versions],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": server_address}],
    }


def group_list(groups: list[Group]) -> Tree:
    """Return the document of ``/apis``."""
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(g) for g in groups]}


def group_document(group: Group) -> Tree:
    """Return the document of ``/apis/<group>``."""
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(group)}


def _group(group: Group) -> Tree:
    versions = [{"groupVersion": v.api_version, "version": v.version} for v in group.versions]
    return {"name": group.name, "versions": versions, "preferredVersion": versions[0]}


def resource_list(version: GroupVersion, *, with_hashes: bool = True) -> Tree:
    """Return the document of ``/api/v1`` or ``/apis/<group>/<version>``: resources by name, each with its subresources.

    ``with_hashes``: built-in resources have the hash of their storage version, as custom ones always do.
    """
    rows: list[Tree] = []
    for _, resource in sorted(version.resources.items()):
        rows.append(_resource(resource, with_hash=with_hashes or not resource.definition))
        rows += [_subresource(resource, subresource) for subresource in resource.subresources]
    document: Tree = {"kind": "APIResourceList", "groupVersion": version.api_version, "resources": rows}
    if version.group:  # the core group's list has no apiVersion
        document["apiVersion"] = "v1"
    return document


def _resource(resource: Resource, *, with_hash: bool) -> Tree:
    row: Tree = {
        "name": resource.name,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        row["shortNames"] = list(resource.short_names)
    if resource.categories:
        row["categories"] = list(resource.categories)
    if resource.storage_api_version and with_hash:
        group, _, version = resource.stored_as.rpartition("/")
        row["storageVersionHash"] = storage_version_hash(group, version, resource.kind)
    return row


def _subresource(resource: Resource, subresource: Subresource) -> Tree:
    row: Tree = {
        "name": f"{resource.name}/{subresource.name}",
        "singularName": "",
        "namespaced": resource.namespaced,
        "kind": subresource.kind,
        "verbs": list(subresource.verbs),
    }
    if subresource.version and (subresource.group, subresource.version) != (resource.group, resource.version):
        row["group"] = subresource.group
        row["version"] = subresource.version
    return row


def storage_version_hash(group: str, version: str, kind: str) -> str:
    """Return an opaque hash, equal for all versions of a resource with the same storage version (KEP-1333)."""
    digest = hashlib.sha256(f"{group}/{version}/{kind}".encode()).digest()
    return base64.b64encode(digest[:8]).decode()


def aggregated(groups: list[Group]) -> Tree:
    """Return the aggregated document of ``/api`` or ``/apis``, ``apidiscovery.k8s.io/v2``."""
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": [_aggregated_group(group) for group in groups],
    }


def _aggregated_group(group: Group) -> Tree:
    metadata: Tree = {"name": group.name} if group.name else {}
    return {"metadata": metadata, "versions": [_aggregated_version(version) for version in group.versions]}


def _aggregated_version(version: GroupVersion) -> Tree:
    remote = version.remote
    if remote is None:
        resources = [_aggregated_resource(resource) for _, resource in sorted(version.resources.items())]
        return {"version": version.version, "resources": resources, "freshness": "Current"}
    row: Tree = {"version": version.version}
    if remote.resources:
        row["resources"] = list(remote.resources)
    return {**row, "freshness": "Stale" if remote.is_stale else "Current"}


def _aggregated_resource(resource: Resource) -> Tree:
    row: Tree = {
        "resource": resource.name,
        "responseKind": _own_kind(resource),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        row["shortNames"] = list(resource.short_names)
    if resource.categories:
        row["categories"] = list(resource.categories)
    if resource.subresources:
        row["subresources"] = [
            {
                "subresource": s.name,
                "responseKind": _subresource_kind(resource, s),
                "verbs": list(s.verbs),
            }
            for s in resource.subresources
        ]
    return row


def _own_kind(resource: Resource) -> Tree:
    """Return the kind of a resource's objects. As upstream, only custom ones have group and version."""
    is_custom = not resource.definition
    return {
        "group": resource.group if is_custom else "",
        "version": resource.version if is_custom else "",
        "kind": resource.kind,
    }


def _subresource_kind(resource: Resource, subresource: Subresource) -> Tree:
    if not subresource.version or (subresource.group, subresource.version) == (resource.group, resource.version):
        return {**_own_kind(resource), "kind": subresource.kind}
    return {"group": subresource.group, "version": subresource.version, "kind": subresource.kind}
