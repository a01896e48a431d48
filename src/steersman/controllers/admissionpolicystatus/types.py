"""CEL types of kinds: built-in kinds from the schema table, others from the server's OpenAPI documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from steersman.cel.builtin_types import declare_struct
from steersman.cel.openapi import declare
from steersman.client import requests
from steersman.client.errors import NotFound
from steersman.controllers.admissionpolicystatus.plan import GroupVersionKind, Matched, schema_of
from steersman.controllers.shared.served import ServedResources, discover
from steersman.schema.loader import struct_for
from steersman.schema.resources import table

if TYPE_CHECKING:
    from steersman.cel.types import Type
    from steersman.client import Client


class Types:
    """Types for one policy. Reads OpenAPI documents only for kinds that are not built in, as definitions change."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._served: ServedResources | None = None
        self._documents: dict[tuple[str, str], dict[str, Any]] = {}

    async def kinds_of(self, matched: Matched) -> list[GroupVersionKind]:
        """Return the kinds of a resource, sorted; none if it is not served. Raises ClientError.

        As in upstream's REST mapper, an empty group matches any group.
        """
        group, version, name = matched
        if group and (built_in := table().get(group, version, name)) is not None:
            return [GroupVersionKind(group, version, built_in.kind)]
        if self._served is None:
            self._served = await discover(self._client)
        kinds = set()
        for (served_in, kind), resource in self._served.kinds.items():
            served_group, _, served_version = served_in.rpartition("/")
            if resource.info.name == name and served_version == version and group in ("", served_group):
                kinds.add(GroupVersionKind(served_group, served_version, kind))
        return sorted(kinds)

    async def type_of(self, group: str, version: str, kind: str) -> Type | None:
        """Return the CEL type of a kind; None without a schema. Raises ClientError."""
        try:
            return declare_struct(struct_for(group, version, kind))
        except KeyError:
            pass  # not built in
        schema = schema_of(await self._document(group, version), group, version, kind)
        return None if schema is None else declare(schema, is_resource=True)

    async def _document(self, group: str, version: str) -> dict[str, Any]:
        cached = self._documents.get((group, version))
        if cached is None:
            path = f"/openapi/v3/apis/{group}/{version}" if group else f"/openapi/v3/api/{version}"
            try:
                answer = await self._client.raw(requests.read(path))
            except NotFound:
                cached = {}
            else:
                cached = msgspec.json.decode(answer.body, type=dict)
            self._documents[group, version] = cached
        return cached
