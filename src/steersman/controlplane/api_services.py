"""Autoregistration: an APIService for every group version that this server serves.

Those of built-in groups are created and repaired at the start only; those of custom resources are created, repaired and
deleted whenever definitions or APIServices change. Upstream: ``kube-aggregator/pkg/controllers/autoregister``.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apiserver.discovery.catalog import AGGREGATOR_GROUP, CUSTOM_GROUP_PRIORITY, CUSTOM_VERSION_PRIORITY
from steersman.schema.resources import table

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.discovery.catalog import Catalog
    from steersman.apiserver.generic.registry import StoredResource
    from steersman.apiserver.server.loopback import Loopback
    from steersman.asynckit.clock import Clock


API_SERVICES: Final = "apiservices.apiregistration.k8s.io"
_PATH: Final = "/apis/apiregistration.k8s.io/v1/apiservices"
_AUTOMANAGED: Final = "kube-aggregator.kubernetes.io/automanaged"
_ALWAYS: Final = "true"
_ON_START: Final = "onstart"
_RETRY_SECONDS: Final = 1.0

_log = logging.getLogger(__name__)


def plan(catalog: Catalog) -> dict[str, Tree]:
    """Return the desired APIServices by name."""
    groups = {group.name: group for group in table().groups}
    desired = {}
    for served in catalog.local_groups():
        if served.name == AGGREGATOR_GROUP:
            continue
        built_in = groups.get(served.name)
        priorities = {version.name: version.priority for version in built_in.versions} if built_in else {}
        for version in served.versions:
            name = f"{version.version}.{version.group}"
            spec: Tree = {
                "group": version.group,
                "version": version.version,
                "groupPriorityMinimum": built_in.priority if built_in else CUSTOM_GROUP_PRIORITY,
                "versionPriority": priorities.get(version.version, CUSTOM_VERSION_PRIORITY),
            }
            labels = {_AUTOMANAGED: _ON_START if version.version in priorities else _ALWAYS}
            desired[name] = {
                "apiVersion": "apiregistration.k8s.io/v1",
                "kind": "APIService",
                "metadata": {"name": name, "labels": labels},
                "spec": spec,
            }
    return desired


class _Bell:
    """Observer that sets an event when an APIService has changed."""

    def __init__(self, event: asyncio.Event) -> None:
        self._event = event

    def wake(self) -> None:
        self._event.set()


class APIServices:
    """Controller of APIServices: ``sync`` runs once at the start, ``run`` as a task afterwards."""

    def __init__(self, client: Loopback, catalog: Catalog, *, stored: StoredResource, clock: Clock) -> None:
        self._client = client
        self._catalog = catalog
        self._stored = stored
        self._clock = clock
        self._changed = asyncio.Event()
        self._has_synced = False
        catalog.on_change = self._changed.set

    async def run(self) -> None:
        """Follow the catalog and APIServices until cancelled."""
        cache = self._stored.cache
        bell = _Bell(self._changed)
        cache.wakeups.add_controller(bell)
        self._changed.set()  # for changes since the first sync
        try:
            while True:
                await self._changed.wait()
                self._changed.clear()
                try:
                    await self.sync()
                except RuntimeError as error:
                    _log.warning("%s; trying again", error)
                    await self._clock.sleep(_RETRY_SECONDS)
                    self._changed.set()
        finally:
            cache.wakeups.remove_controller(bell)

    async def sync(self) -> None:
        """Create, update and delete APIServices. Raises RuntimeError when a request is rejected."""
        cache = self._stored.cache
        await cache.ready()
        labels = {_ALWAYS} if self._has_synced else {_ALWAYS, _ON_START}
        desired = plan(self._catalog)
        stored = {entry.name: entry for entry in cache.snapshot()}
        for name, tree in desired.items():
            is_managed = tree["metadata"]["labels"][_AUTOMANAGED] in labels
            if name not in stored and is_managed:
                await self._send("POST", _PATH, tree, allowed=(201, 409))
        for name, entry in stored.items():
            if entry.labels.get(_AUTOMANAGED) not in labels:
                continue
            current = cache.layout.tree(entry)
            if name not in desired:
                options = {"preconditions": {"uid": current["metadata"]["uid"]}}
                await self._send("DELETE", f"{_PATH}/{name}", options, allowed=(200, 404, 409))
            elif current["spec"] != desired[name]["spec"]:
                updated = {**current, "spec": desired[name]["spec"]}
                await self._send("PUT", f"{_PATH}/{name}", updated, allowed=(200, 404, 409))
        self._has_synced = True

    async def _send(self, method: str, path: str, tree: Tree, *, allowed: tuple[int, ...]) -> None:
        answer = await self._client.request(method, path, body=msgspec.json.encode(tree))
        if answer.code not in allowed:
            raise RuntimeError(f"APIService: {method} {path}: {answer.body.decode(errors='replace')}")


class LoopbackStatusWriter:
    """Updates the status of APIServices over the server's own client, which is set before the first call."""

    client: Loopback

    async def put(self, api_service: Tree) -> int:
        """Update ``/status``; return the code of the answer."""
        path = f"{_PATH}/{api_service['metadata']['name']}/status"
        return (await self.client.request("PUT", path, body=msgspec.json.encode(api_service))).code
