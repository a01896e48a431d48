"""Controller that ``steersman controller-manager`` runs by its entry point, and a manager with some of Steersman's."""

import asyncio

from lightkube.models.core_v1 import ConfigMap

from steersman.client import connect
from steersman.client.objects import split_key
from steersman.controllers.starters import add_controllers
from steersman.runtime import Controller, ControllerContext, Manager


class Greeter(Controller):
    """Greet every ConfigMap with a ``name``: ``kubectl create configmap hello --from-literal=name=you``."""

    name = "greeter"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self.maps = self.watch(ConfigMap)

    async def reconcile(self, key: str) -> None:
        """Write the greeting."""
        greeted = self.maps.lister.by_key(key)
        data = (greeted.data if greeted else None) or {}
        greeting = {"greeting": f"Hello, {data.get('name')}!"}
        if "name" in data and not greeting.items() <= data.items():
            namespace, name = split_key(key)
            await self.client.patch(ConfigMap, name, {"data": greeting}, namespace=namespace)


async def main() -> None:
    """Run Deployments and the greeter, and nothing else."""
    async with connect() as client:
        manager = Manager(client)
        await add_controllers(manager, "deployment-controller", "replicaset-controller", "greeter-controller")
        manager.stop_on_signals()
        await manager.run()


def run() -> None:
    """Run ``greeter-manager``."""
    asyncio.run(main())


if __name__ == "__main__":
    run()
