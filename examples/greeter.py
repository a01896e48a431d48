"""Controller that greets every ConfigMap with a name: ``kubectl create configmap hello --from-literal=name=you``."""

import asyncio

from lightkube.models.core_v1 import ConfigMap

from steersman.client import connect
from steersman.client.objects import split_key
from steersman.runtime import Controller, ControllerContext, Manager


class Greeter(Controller):
    name = "greeter"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self.maps = self.watch(ConfigMap)

    async def reconcile(self, key: str) -> None:
        config_map = self.maps.lister.by_key(key)
        data = (config_map.data if config_map else None) or {}
        greeting = {"greeting": f"Hello, {data.get('name')}!"}
        if "name" in data and not greeting.items() <= data.items():
            namespace, name = split_key(key)
            await self.client.patch(ConfigMap, name, {"data": greeting}, namespace=namespace)


async def main() -> None:
    async with connect() as client:
        manager = Manager(client)
        manager.add(Greeter(manager.context))
        manager.stop_on_signals()
        await manager.run()


if __name__ == "__main__":
    asyncio.run(main())
