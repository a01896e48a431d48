"""APIServices of every group version that this server serves. Upstream: the autoregister controller.

Built-in ones are created once at the start; those of custom resources follow their definitions.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.schema.resources import table

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.discovery.catalog import Catalog
    from steersman.apiserver.server.loopback import Loopback
    from steersman.asynckit.clock import Clock


_PATH: Final = "/apis/apiregistration.k8s.io/v1/apiservices"
#: Who answers for APIServices themselves has none.
_OWN_GROUP: Final = "apiregistration.k8s.io"
_AUTOMANAGED: Final = "kube-aggregator.kubernetes.io/automanaged"
#: What custom resources get: after everything built in, all versions alike.
_CUSTOM_GROUP_PRIORITY: Final = 1000
_CUSTOM_VERSION_PRIORITY: Final = 100
_RETRY_SECONDS: Final = 1.0

_log = logging.getLogger(__name__)


def plan(catalog: Catalog) -> dict[str, Tree]:
    """Return the desired APIServices by name."""
    groups = {group.name: group for group in table().groups}
    core = catalog.group("")
    wanted = {}
    for served in [*([core] if core else []), *catalog.groups()]:
        if served.name == _OWN_GROUP:
            continue
        built_in = groups.get(served.name)
        priorities = {version.name: version.priority for version in built_in.versions} if built_in else {}
        for version in served.versions:
            name = f"{version.version}.{version.group}"
            spec: Tree = {
                "group": version.group,
                "version": version.version,
                "groupPriorityMinimum": built_in.priority if built_in else _CUSTOM_GROUP_PRIORITY,
                "versionPriority": priorities.get(version.version, _CUSTOM_VERSION_PRIORITY),
            }
            labels = {_AUTOMANAGED: "onstart" if version.version in priorities else "true"}
            wanted[name] = {
                "apiVersion": "apiregistration.k8s.io/v1",
                "kind": "APIService",
                "metadata": {"name": name, "labels": labels},
                "spec": spec,
            }
    return wanted


class APIServices:
    """Creates and deletes APIServices: ``sync`` once at the start, then ``run`` as a task."""

    def __init__(self, client: Loopback, catalog: Catalog, *, clock: Clock) -> None:
        self._client = client
        self._catalog = catalog
        self._clock = clock
        self._changed = asyncio.Event()
        catalog.on_change = self._changed.set

    async def run(self) -> None:
        """Follow the catalog until cancelled."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                await self.sync()
            except RuntimeError as error:
                _log.warning("%s; trying again", error)
                await self._clock.sleep(_RETRY_SECONDS)
                self._changed.set()

    async def sync(self) -> None:
        """Make what is missing, remove what is served no longer. Raises RuntimeError when a call is refused."""
        wanted = plan(self._catalog)
        answer = await self._client.request("GET", f"{_PATH}?resourceVersion=0")
        items = answer.json().get("items") or ()
        there = {item["metadata"]["name"]: item["metadata"].get("labels") or {} for item in items}
        for name, tree in wanted.items():
            if name not in there:
                made = await self._client.request("POST", _PATH, body=msgspec.json.encode(tree))
                if made.code not in (201, 409):
                    raise RuntimeError(f"APIService {name}: {made.body.decode(errors='replace')}")
        for name, labels in there.items():
            if name not in wanted and labels.get(_AUTOMANAGED) == "true":
                await self._client.request("DELETE", f"{_PATH}/{name}")
