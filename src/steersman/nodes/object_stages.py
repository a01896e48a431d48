"""Controllers that run the stages of objects other than Pods and Nodes, of any kind that is or becomes served."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, ClassVar, Final

from steersman.asynckit.tasks import Supervisor
from steersman.client.changes import Deleted
from steersman.client.errors import ClientError
from steersman.client.objects import split_key, uid_of
from steersman.nodes.stage_runner import StageRunner
from steersman.nodes.stages import StageContext
from steersman.runtime.controller import Controller
from steersman.runtime.result import Result

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.client.changes import Change
    from steersman.client.resource_types import ResourceType
    from steersman.nodes.stages import Stage
    from steersman.runtime.context import ControllerContext


_WORKERS: Final = 4
#: Interval of discovery for a kind that is not served.
_DISCOVERY_SECONDS: Final = 10.0
_log: Final = logging.getLogger(__name__)


class ObjectStages(Controller):
    """Run the stages of all objects of one kind."""

    name: ClassVar[str] = "simulated-object-stages"

    def __init__(self, context: ControllerContext, resource_type: ResourceType[Tree], stages: Sequence[Stage]) -> None:
        super().__init__(context, workers=_WORKERS)
        self._started = self.clock.now()
        self._objects = self.watch(resource_type, when=self._concerns_us)
        self._runner = StageRunner(self, stages, resource_type, self._objects, context.events.recorder("kwok"))

    def _concerns_us(self, change: Change[Tree]) -> bool:
        if isinstance(change, Deleted):
            self._runner.forget(uid_of(change.latest))
            return False
        return True

    async def reconcile(self, key: str) -> Result | None:
        """Apply the transition of the object's stage when it is due."""
        namespace, name = split_key(key)
        obj = self._objects.lister.get(name, namespace=namespace)
        pending = self._runner.stage_of(obj) if obj is not None else None
        if obj is None or pending is None:
            return None
        remaining = self._runner.remaining_seconds(pending)
        if remaining > 0:
            return Result(requeue_after_seconds=remaining)
        stage_context = StageContext(self.clock.now(), started=self._started, dice=self.dice)
        await self._runner.run(key, obj, pending.stage.transition(obj, stage_context))
        return None


class DiscoveredStages:
    """Run an ``ObjectStages`` for each kind, as soon as the API server serves it."""

    name: ClassVar[str] = "simulated-object-stages"

    def __init__(self, context: ControllerContext, stages: Mapping[tuple[str, str], Sequence[Stage]]) -> None:
        """``stages`` by API version and kind."""
        self._context = context
        self._stages = stages
        self._stopped = asyncio.Event()
        self._tasks = Supervisor(self.name)

    @property
    def is_ready(self) -> bool:
        """True if the started controllers are ready; kinds that are not served do not delay readiness."""
        return True

    def stop(self) -> None:
        """End ``run``."""
        self._stopped.set()

    async def run(self) -> None:
        """Run until ``stop``."""
        try:
            for (api_version, kind), stages in self._stages.items():
                self._tasks.start(f"{kind} of {api_version}", self._serve(api_version, kind, stages))
            await self._stopped.wait()
        finally:
            await self._tasks.close()

    async def _serve(self, api_version: str, kind: str, stages: Sequence[Stage]) -> None:
        resource_type = await self._discover(api_version, kind)
        controller = ObjectStages(self._context, resource_type, stages)
        self._context.informers.start()
        await controller.run()

    async def _discover(self, api_version: str, kind: str) -> ResourceType[Tree]:
        is_logged = False
        while True:
            try:
                return await self._context.client.discover(api_version, kind)
            except (LookupError, ClientError) as error:
                if not is_logged:
                    _log.warning("stages of %s %s wait until it is served: %s", api_version, kind, error)
                is_logged = True
            await self._context.clock.sleep(_DISCOVERY_SECONDS)
