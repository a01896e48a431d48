"""Which resource serves a kind: the built-in table first, then what the server tells (kept once told)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from steersman.client import requests
from steersman.client.errors import NotFound, UnreadableAnswer
from steersman.client.resource_types import ResourceType, custom, tree

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from steersman.client.transport import Answer, Request

    Send = Callable[[Request], Awaitable[Answer]]
    Tree = dict[str, Any]


class _APIResource(msgspec.Struct):
    name: str
    kind: str
    namespaced: bool
    singularName: str = ""  # noqa: N815 — as on the wire
    verbs: list[str] = []


class _APIResourceList(msgspec.Struct):
    resources: list[_APIResource] | None = None


class Discovery:
    """Resources by kind. A kind that is not found is asked for anew the next time: its definition may come."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._known: dict[tuple[str, str], ResourceType[Tree]] = {}

    async def resource(self, api_version: str, kind: str) -> ResourceType[Tree]:
        """Raises LookupError when the server serves no such kind."""
        try:
            return tree(api_version, kind)
        except LookupError:
            pass  # not built in
        if (api_version, kind) not in self._known:
            await self._ask(api_version)
        try:
            return self._known[api_version, kind]
        except KeyError:
            raise LookupError(f'no matches for kind "{kind}" in version "{api_version}"') from None

    async def serves(self, resource: ResourceType[Any], subresource: str) -> bool:
        """Whether a resource has a subresource, as the server says now."""
        name = f"{resource.info.name}/{subresource}"
        return any(entry.name == name for entry in await self._listed(resource.info.api_version))

    async def _ask(self, api_version: str) -> None:
        for entry in await self._listed(api_version):
            if "/" not in entry.name:
                self._known[api_version, entry.kind] = custom(
                    api_version,
                    entry.kind,
                    plural=entry.name,
                    namespaced=entry.namespaced,
                    singular=entry.singularName,
                    verbs=entry.verbs,
                )

    async def _listed(self, api_version: str) -> list[_APIResource]:
        path = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        try:
            answer = await self._send(requests.read(path))
        except NotFound:
            return []
        try:
            return msgspec.json.decode(answer.body, type=_APIResourceList).resources or []
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise UnreadableAnswer(f"no resources of {api_version}: {error}") from error
