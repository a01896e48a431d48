"""State that all controllers of a process share."""

from __future__ import annotations

import copy
from random import Random
from typing import TYPE_CHECKING, Any, Final, Self

from steersman.client.events import EventBroadcaster
from steersman.client.informer_factory import InformerFactory
from steersman.runtime.metrics import RuntimeMetrics

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.asynckit.clock import Clock
    from steersman.client import Client
    from steersman.client.reflector import ReflectorOptions


class ControllerContext:
    """One client, set of informers, event broadcaster, metrics registry, clock and random generator.

    A manager creates one; a test can create one without a manager.
    """

    def __init__(
        self,
        client: Client,
        *,
        dice: Random | None = None,
        metrics: RuntimeMetrics | None = None,
        transform: Callable[[Any], Any] | None = None,
        resync_seconds: float | None = None,
        reflector: ReflectorOptions | None = None,
        informers: InformerFactory | None = None,
    ) -> None:
        """``transform`` maps each object to what informers store, e.g. ``drop_managed_fields``.

        ``resync_seconds``: period after which informers deliver every object again; no resync by default.

        ``informers``: factory of another context, to share; ``transform``, ``resync_seconds`` and ``reflector`` are then
        ignored.
        """
        self.client: Final = client
        #: The client's clock, so that waits and timestamps agree.
        self.clock: Clock = client.clock
        self.dice: Final = dice or Random()  # noqa: S311 — jitter and names, no secrets
        self.informers: Final = informers or InformerFactory(
            client, dice=self.dice, transform=transform, resync_seconds=resync_seconds, options=reflector
        )
        self.events: Final = EventBroadcaster(client, clock=self.clock, dice=self.dice)
        self.metrics: Final = metrics or RuntimeMetrics()

    def on_clock(self, clock: Clock) -> Self:
        """Return this context with another clock for the controllers that are created with it."""
        context = copy.copy(self)
        context.clock = clock
        return context
