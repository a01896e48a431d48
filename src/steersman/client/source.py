"""Where a reflector's objects come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from contextlib import AbstractAsyncContextManager
    from typing import Any

    from steersman.client.client import Client
    from steersman.client.decoding import ObjectList, WatchEvent
    from steersman.client.requests import ListOptions
    from steersman.client.resource_types import ResourceType

T = TypeVar("T")


class EventStream(Protocol):
    """An open watch."""

    def batches(self) -> AsyncGenerator[list[WatchEvent[Any]], None]:
        """Events as they come. Raises ``ClientError``."""


class Source(Protocol[T]):
    """The list and watch of one resource, one namespace, one selection. Raises ``ClientError``."""

    @property
    def name(self) -> str:
        """For logs and tasks: ``pods``, ``deployments.apps``."""

    async def list(self, *, limit: int | None = None, continue_token: str = "") -> ObjectList[T]:
        """One page of the latest state, or all of it."""

    def watch(
        self, *, resource_version: str, timeout_seconds: int, send_initial_events: bool | None
    ) -> AbstractAsyncContextManager[EventStream]:
        """Changes after a version, with bookmarks."""


class ClientSource(Generic[T]):
    """A source over a client."""

    def __init__(
        self,
        client: Client,
        resource: ResourceType[T],
        *,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
    ) -> None:
        self._client = client
        self._resource = resource
        self._namespace = namespace
        self._selection: ListOptions = {"label_selector": label_selector, "field_selector": field_selector}

    @property
    def name(self) -> str:
        """The group resource."""
        return self._resource.info.group_resource

    @property
    def kind(self) -> str:
        """The kind of the objects: ``Pod``."""
        return self._resource.info.kind

    async def list(self, *, limit: int | None = None, continue_token: str = "") -> ObjectList[T]:
        """One page, or all."""
        return await self._client.list(
            self._resource, namespace=self._namespace, limit=limit, continue_token=continue_token, **self._selection
        )

    def watch(
        self, *, resource_version: str, timeout_seconds: int, send_initial_events: bool | None
    ) -> AbstractAsyncContextManager[EventStream]:
        """Changes after a version."""
        options: ListOptions = {**self._selection, "timeout_seconds": timeout_seconds}
        options["resource_version"] = resource_version
        if send_initial_events is not None:
            options["resource_version_match"] = "NotOlderThan"
        return self._client.watch(
            self._resource, namespace=self._namespace, send_initial_events=send_initial_events, **options
        )
