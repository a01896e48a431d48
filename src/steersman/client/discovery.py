"""Discovery: resource of a kind, from the built-in table or from the server's ``APIResourceList`` (cached)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from steersman.client import requests
from steersman.client.errors import NotFound, UnexpectedResponse
from steersman.client.resource_types import ResourceType, custom, tree

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from steersman.apimachinery.trees import Tree
    from steersman.client.transport import Request, Response

    Send = Callable[[Request], Awaitable[Response]]


class _APIResource(msgspec.Struct):
    name: str
    kind: str
    namespaced: bool
    singularName: str = ""  # noqa: N815 — as on the wire
    verbs: list[str] = []


class _APIResourceList(msgspec.Struct):
    resources: list[_APIResource] | None = None


class Discovery:
    """Resources by kind. A kind that the server does not serve is queried again on the next call: a CRD may add it."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._resources: dict[tuple[str, str], ResourceType[Tree]] = {}

    async def resource(self, api_version: str, kind: str) -> ResourceType[Tree]:
        """Return the resource of a kind. Raises LookupError when the server serves no such kind."""
        try:
            return tree(api_version, kind)
        except LookupError:
            pass  # not built-in
        if (api_version, kind) not in self._resources:
            await self._load(api_version)
        try:
            return self._resources[api_version, kind]
        except KeyError:
            raise LookupError(f'no matches for kind "{kind}" in version "{api_version}"') from None

    async def serves(self, resource: ResourceType[Any], subresource: str) -> bool:
        """Report whether the server currently serves a subresource of the resource."""
        name = f"{resource.info.name}/{subresource}"
        return any(entry.name == name for entry in await self._api_resources(resource.info.api_version))

    async def _load(self, api_version: str) -> None:
        for entry in await self._api_resources(api_version):
            if "/" not in entry.name:
                self._resources[api_version, entry.kind] = custom(
                    api_version,
                    entry.kind,
                    plural=entry.name,
                    namespaced=entry.namespaced,
                    singular=entry.singularName,
                    verbs=entry.verbs,
                )

    async def _api_resources(self, api_version: str) -> list[_APIResource]:
        path = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        try:
            response = await self._send(requests.read(path))
        except NotFound:
            return []
        try:
            return msgspec.json.decode(response.body, type=_APIResourceList).resources or []
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise UnexpectedResponse(f"no resources of {api_version}: {error}") from error
