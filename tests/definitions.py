"""Kinds that the server does not have itself, for tests of what works with them: their definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.client import ResourceType

_ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def definition(
    resource: ResourceType[Any], *, properties: dict[str, Any] | None = None, selectable: Sequence[str] = ()
) -> dict[str, Any]:
    """Return a definition with a status subresource.

    ``properties`` are the only fields of ``spec``; without them any field is valid.

    ``selectable`` are fields of ``spec`` that are texts and can be selected by.
    """
    info = resource.info
    texts = {name: {"type": "string"} for name in selectable}
    spec = {**_ANYTHING, "properties": texts} if properties is None else {"type": "object", "properties": properties}
    version = {
        "name": info.version, "served": True, "storage": True, "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {**_ANYTHING, "properties": {"spec": spec}}},
        "selectableFields": [{"jsonPath": f".spec.{name}"} for name in selectable],
    }  # fmt: skip
    names = {"plural": info.name, "singular": info.singular, "kind": info.kind}
    scope = "Namespaced" if info.namespaced else "Cluster"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": info.group_resource,
            # Groups of Kubernetes itself need it.
            "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"},
        },
        "spec": {"group": info.group, "scope": scope, "names": names, "versions": [version]},
    }
