"""Informers by what they watch: who asks for the same gets the same, so each object is kept and each watch open once."""

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

    from steersman.client.client import Client, What
    from steersman.client.reflector import ReflectorOptions
    from steersman.client.resource_types import ResourceType

T = TypeVar("T")


class InformerFactory:
    """Owns its informers: ``start`` starts those that are new, ``close`` stops all, the youngest first."""

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
        """``transform`` and ``resync_seconds`` are for informers that are not given their own, the rest for all.

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
        what: What[T],
        *,
        namespace: str | None = None,
        label_selector: str | Mapping[str, str] = "",
        field_selector: str | Mapping[str, str] = "",
        transform: Callable[[T], T] | None = None,
        resync_seconds: float | None = None,
    ) -> Informer[T]:
        """The one informer of this resource, namespace (None: all) and selection; made if it is new.

        Raises ValueError when there is one that keeps something else of its objects (``transform``).
        """
        resource = resource_type(what)
        transform = transform or self._transform
        labels, fields = selector_text(label_selector) or "", selector_text(field_selector) or ""
        known = self._informers.get((resource, namespace or "", labels, fields))
        if known is not None:
            if known[1] is not transform:
                raise ValueError(f"the informer of {known[0].name} is there already, with another transform")
            return known[0]
        source = ClientSource(self._client, resource, namespace=namespace, label_selector=labels, field_selector=fields)
        made = Informer(
            source,
            clock=self._client.clock,
            dice=self._dice,
            transform=transform,
            resync_seconds=self._resync_seconds if resync_seconds is None else resync_seconds,
            options=self._options,
            detect_mutations=self._detect_mutations,
        )
        self._informers[resource, namespace or "", labels, fields] = (made, transform)
        return made

    @property
    def informers(self) -> list[Informer[Any]]:
        """All that were asked for, oldest first."""
        return [informer for informer, _ in self._informers.values()]

    def start(self) -> None:
        """Start every informer that is not started yet. May be called again after more were asked for."""
        for informer in self.informers:
            informer.start()

    async def discard(self, informer: Informer[Any]) -> None:
        """Stop one for good: what it watches is no longer served. Who asks for the same later gets a new one."""
        for key, (known, _) in list(self._informers.items()):
            if known is informer:
                del self._informers[key]
        await informer.close()

    async def wait_synced(self, *, timeout_seconds: float | None = None) -> None:
        """Wait until every informer is synced. Raises ``TimeoutError``, which names those that are not."""
        try:
            async with Timeout(timeout_seconds, clock=self._client.clock):
                for informer in self.informers:
                    await informer.wait_synced()
        except TimeoutError:
            late = ", ".join(informer.name for informer in self.informers if not informer.has_synced)
            raise TimeoutError(f"not synced within {timeout_seconds} seconds: {late}") from None

    async def close(self) -> None:
        """Stop all. Idempotent. Raises ``CacheMutated``, once all have stopped, if that was to be detected."""
        mutated: list[CacheMutated] = []
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
