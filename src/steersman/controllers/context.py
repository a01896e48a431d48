"""What a controller of the manager is given, beyond what every controller has."""

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
    """One controller's view of the process; nothing in it is to be closed by a controller.

    ``client`` and ``events`` act as the controller's own service account; ``informers`` are shared by all controllers
    and are started when every controller has been built, so ask for them in ``build``.
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
        """``name`` is the one in ``registry``.

        ``served``: each ``group/version resource`` of the server, for a controller that can do without one.
        """
        super().__init__(client, dice=dice, metrics=metrics, informers=informers)
        self.name: Final = name
        self.options: Final = options
        self.served: Final = served
