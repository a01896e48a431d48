"""Shared informers: one informer, cache and watch per resource, namespace and selection.

Upstream: ``k8s.io/client-go/informers.SharedInformerFactory``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from steersman.asynckit.timeouts import Timeout
from steersman.client.client import resource_type
from steersman.client.informer import Informer
from steersman.client.mutation_detector import CacheMutated
from steersman.client.requests import selector_text
from steersman.client.source import ClientSource

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Mapping
    from types import TracebackType

    from steersman.client.client import Client, ResourceLike
    from steersman.client.reflector import ReflectorOptions
    from steersman.client.resource_types import ResourceType

T = TypeVar("T")


class InformerFactory:
    """Owner of informers: ``start`` starts the new ones, ``close`` stops all in reverse order of creation."""

    def __init__(
        self,
        client: Client,
        *,
        dice: random.Random | None = None,
        transform: Callable[[Any], Any] | None = None,
        resync_seconds: float | None = None,
        options: ReflectorOptions | None = None,
        detect_mutations: bool = False,
    ) -> None:
        """Create a factory. ``transform`` and ``resync_seconds`` are defaults.

        The other options apply to all informers.

        See ``Informer``.
        """
        self._client: Final = client
        self._dice = dice
        self._transform = transform
        self._resync_seconds = resync_seconds
        self._options = options
        self._detect_mutations = detect_mutations
        self._informers: dict[tuple[ResourceType[Any], str, str, str], tuple[Informer[Any], object]] = {}

    def informer(
        self,
        resource: ResourceLike[T],
        *,
        namespace: str | None = None,
        label_selector: str | Mapping[str, str] = "",
        field_selector: str | Mapping[str, str] = "",
        transform: Callable[[T], T] | None = None,
        resync_seconds: float | None = None,
    ) -> Informer[T]:
        """Return the informer of this resource, namespace (None: all) and selection; create it if necessary.

        Raises ValueError if the informer exists with another ``transform``.
        """
        resolved = resource_type(resource)
        transform = transform or self._transform
        labels, fields = selector_text(label_selector) or "", selector_text(field_selector) or ""
        entry = self._informers.get((resolved, namespace or "", labels, fields))
        if entry is not None:
            if entry[1] is not transform:
                raise ValueError(f"the informer of {entry[0].name} is there already, with another transform")
            return entry[0]
        source = ClientSource(
            self._client,
            resolved,
            namespace=namespace,
            label_selector=labels,
            field_selector=fields,
            bookmarks=self._options is None or self._options.bookmarks,
        )
        informer = Informer(
            source,
            clock=self._client.clock,
            dice=self._dice,
            transform=transform,
            resync_seconds=self._resync_seconds if resync_seconds is None else resync_seconds,
            options=self._options,
            detect_mutations=self._detect_mutations,
        )
        self._informers[resolved, namespace or "", labels, fields] = (informer, transform)
        return informer

    @property
    def informers(self) -> list[Informer[Any]]:
        """Informers in order of creation."""
        return [informer for informer, _ in self._informers.values()]

    def of_whole_objects(self) -> dict[tuple[str, str], Informer[Any]]:
        """Return the informers that hold all objects of a resource, unchanged by a ``transform`` of their own.

        By API version and group resource; one of several for the same resource.
        """
        return {
            (resource.info.api_version, resource.info.group_resource): informer
            for (resource, *selection), (informer, transform) in self._informers.items()
            if not (resource.accept_as or any(selection)) and transform is self._transform
        }

    def start(self) -> None:
        """Start every informer that is not started yet. Call again after creating more."""
        for informer in self.informers:
            informer.start()

    async def discard(self, informer: Informer[Any]) -> None:
        """Stop and remove an informer whose resource is no longer served; the next request for it creates a new one."""
        for key, (candidate, _) in list(self._informers.items()):
            if candidate is informer:
                del self._informers[key]
        await informer.close()

    async def wait_synced(self, *, timeout_seconds: float | None = None) -> None:
        """Wait until every informer is synced. Raises ``TimeoutError`` with the names of unsynced informers."""
        try:
            async with Timeout(timeout_seconds, clock=self._client.clock):
                for informer in self.informers:
                    await informer.wait_synced()
        except TimeoutError:
            unsynced = ", ".join(informer.name for informer in self.informers if not informer.has_synced)
            raise TimeoutError(f"not synced within {timeout_seconds} seconds: {unsynced}") from None

    async def close(self) -> None:
        """Stop all informers. Idempotent. Raises ``CacheMutated`` after all have stopped, with ``detect_mutations``."""
        mutated: list[CacheMutated] = []
        for informer in self.informers:
            informer.cancel()  # all at once, as each takes several passes of the loop to end
        for informer in reversed(self.informers):
            try:
                await informer.close()
            except CacheMutated as error:
                mutated.append(error)
        if mutated:
            raise mutated[0]

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
