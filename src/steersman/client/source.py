"""List and watch source of a reflector. Upstream: ``k8s.io/client-go/tools/cache.ListerWatcher``."""

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
        """Yield batches of events. Raises ``ClientError``."""


class Source(Protocol[T]):
    """List and watch of one resource, namespace and selection. Raises ``ClientError``."""

    @property
    def name(self) -> str:
        """Group resource, for logs and tasks: ``pods``, ``deployments.apps``."""

    async def list(self, *, limit: int | None = None, continue_token: str = "") -> ObjectList[T]:
        """Return one page of the latest state, or all of it."""

    def watch(
        self, *, resource_version: str, timeout_seconds: int, send_initial_events: bool | None
    ) -> AbstractAsyncContextManager[EventStream]:
        """Watch changes after a version, with bookmarks."""


class ClientSource(Generic[T]):
    """Source that uses a client."""

    def __init__(
        self,
        client: Client,
        resource: ResourceType[T],
        *,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        bookmarks: bool = True,
    ) -> None:
        self._client = client
        self._resource = resource
        self._namespace = namespace
        self._bookmarks = bookmarks
        self._selection: ListOptions = {"label_selector": label_selector, "field_selector": field_selector}

    @property
    def name(self) -> str:
        """Group resource."""
        return self._resource.info.group_resource

    @property
    def kind(self) -> str:
        """Kind of the objects: ``Pod``."""
        return self._resource.info.kind

    async def list(self, *, limit: int | None = None, continue_token: str = "") -> ObjectList[T]:
        """Return one page, or all objects."""
        return await self._client.list(
            self._resource, namespace=self._namespace, limit=limit, continue_token=continue_token, **self._selection
        )

    def watch(
        self, *, resource_version: str, timeout_seconds: int, send_initial_events: bool | None
    ) -> AbstractAsyncContextManager[EventStream]:
        """Watch changes after a version."""
        options: ListOptions = {**self._selection, "timeout_seconds": timeout_seconds}
        options["resource_version"] = resource_version
        if send_initial_events is not None:
            options["resource_version_match"] = "NotOlderThan"
        return self._client.watch(
            self._resource,
            namespace=self._namespace,
            bookmarks=self._bookmarks,
            send_initial_events=send_initial_events,
            **options,
        )
