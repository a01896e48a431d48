"""References to objects in kubectl's syntax: ``deployment/web``, ``pods/web-1``, ``certificate.cert-manager.io/tls``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apiserver.discovery.catalog import Catalog
    from steersman.schema.resources import Resource


class BadReference(ValueError):  # noqa: N818 — named by the condition
    """The reference is malformed, or its resource is not served."""


class ObjectReference(msgspec.Struct, frozen=True):
    """One object of a served resource."""

    resource: Resource
    namespace: str
    name: str

    @property
    def key(self) -> str:
        """Key in the store."""
        scope = f"/{self.namespace}" if self.namespace else ""
        return f"{self.resource.key_prefix}{scope}/{self.name}"

    @property
    def path(self) -> str:
        """Path of the API."""
        root = f"/apis/{self.resource.api_version}" if self.resource.group else f"/api/{self.resource.version}"
        scope = f"/namespaces/{self.namespace}" if self.namespace else ""
        return f"{root}{scope}/{self.resource.name}/{self.name}"

    def __str__(self) -> str:
        return f"{self.resource.singular or self.resource.name}/{self.name}"


def read_reference(text: str, catalog: Catalog, *, namespace: str = "default") -> ObjectReference:
    """Return the object of ``RESOURCE/NAME`` or ``RESOURCE/NAMESPACE/NAME``.

    The resource is a plural, singular, short name or kind, qualified by its group if ambiguous. Raises ``BadReference``.
    """
    parts = text.split("/")
    if len(parts) not in (2, 3) or not all(parts):
        raise BadReference(f'"{text}" is no reference to an object: expected RESOURCE/NAME or RESOURCE/NAMESPACE/NAME')
    resource = find_resource(parts[0], catalog)
    if len(parts) == 3:
        namespace = parts[1]
    return ObjectReference(resource, namespace if resource.namespaced else "", parts[-1])


def find_resource(text: str, catalog: Catalog) -> Resource:
    """Return a stored resource by its plural, singular, short name or kind. Raises ``BadReference``."""
    name, _, group = text.lower().partition(".")
    for resource in _stored_resources(catalog):
        names = (resource.name, resource.singular, resource.kind.lower(), *resource.short_names)
        if name in names and group in ("", resource.group):
            return resource
    raise BadReference(f'the server serves no resource "{text}"')


def _stored_resources(catalog: Catalog) -> Iterator[Resource]:
    """Yield the stored resources by group and version in order of preference, the core group first."""
    for group in catalog.local_groups():
        for version in group.versions:
            for resource in version.resources.values():
                if resource.key_prefix:
                    yield resource
