"""Context of a controller of the manager."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.runtime.context import ControllerContext as RuntimeContext

if TYPE_CHECKING:
    from collections.abc import Collection
    from random import Random

    from steersman.client import Client
    from steersman.client.informer_factory import InformerFactory
    from steersman.controllers.options import ControllerOptions
    from steersman.runtime.metrics import RuntimeMetrics


class ControllerContext(RuntimeContext):
    """Clients, informers and options of one controller, owned by the manager.

    ``client`` and ``events`` act as the controller's own service account; ``informers`` are shared by all controllers
    and started after every controller has been built, so request them in ``build``.
    """

    def __init__(
        self,
        client: Client,
        *,
        name: str,
        options: ControllerOptions,
        dice: Random | None = None,
        metrics: RuntimeMetrics | None = None,
        informers: InformerFactory | None = None,
        served: Collection[str] = (),
    ) -> None:
        """``name``: name in ``registry``. ``served``: each ``group/version resource`` of the server, for optional resources."""
        super().__init__(client, dice=dice, metrics=metrics, informers=informers)
        self.name: Final = name
        self.options: Final = options
        self.served: Final = served
