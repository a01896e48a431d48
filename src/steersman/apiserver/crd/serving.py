"""Controller of CustomResourceDefinitions: accepts names, serves resources, finalizes deleted definitions.

Level-triggered: after any change, every definition with a new version is synced. Statuses are written through
the API (``DefinitionWriter``), like those of upstream's controllers.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.crd import naming, structure
from steersman.apiserver.crd.conversion_webhook import ConversionServices, ConversionWebhook
from steersman.apiserver.crd.definition import (
    CustomVersion,
    all_versions,
    condition_is,
    is_established,
)
from steersman.apiserver.crd.group_names import GroupNames
from steersman.apiserver.crd.outline import have_equal_specs, outline_of
from steersman.apiserver.crd.strategy import CustomResourceStrategy, DefinitionState, labels_of
from steersman.apiserver.crd.version_converter import VersionConverter
from steersman.apiserver.generic import deletion
from steersman.apiserver.generic.converting_store import ConvertingStore
from steersman.apiserver.generic.entry import Layout
from steersman.apiserver.generic.options import DeleteOptions
from steersman.apiserver.generic.served import ServedResource
from steersman.apiserver.request import SERVER_USER, RequestContext
from steersman.asynckit.slices import next_turn
from steersman.storage.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.crd.lazy_schema import LazySchema
    from steersman.apiserver.discovery.catalog import Catalog
    from steersman.apiserver.generic.entry import Entry
    from steersman.apiserver.generic.registry import Registry, StoredResource
    from steersman.asynckit.clock import Clock
    from steersman.schema.resources import Resource


_log = logging.getLogger(__name__)

#: Finalizer that retains a definition until its objects are deleted.
CLEANUP_FINALIZER: Final = "customresourcecleanup.apiextensions.k8s.io"
#: Verbs in discovery while the definition terminates (updates are served nevertheless).
_VERBS_AT_THE_END: Final = ("delete", "deletecollection", "get", "list", "watch")
_DEFINITIONS: Final = "customresourcedefinitions.apiextensions.k8s.io"
#: Delay of the next sync after a failed write.
_RETRY_SECONDS: Final = 1.0


class DefinitionWriter(Protocol):
    """API calls of the loop."""

    async def put_status(self, definition: Tree) -> None:
        """Update ``/status`` of a definition with its resourceVersion. Raises StatusError."""
        ...

    async def release(self, definition: Tree) -> None:
        """Remove the cleanup finalizer. Raises StatusError."""
        ...


class _StoredDefinition:
    """Latest entry of a definition whose fields that affect serving are unchanged; schemas are read from it."""

    __slots__ = ("entry",)

    def __init__(self, entry: Entry) -> None:
        self.entry = entry

    def tree(self) -> Tree:
        return self.entry.tree()


class _Custom:
    """An established definition, with its storage and served versions."""

    def __init__(
        self,
        definition: _StoredDefinition,
        names: Tree | None,
        storage: StoredResource,
        life: DefinitionState,
        versions: dict[str, CustomVersion],
    ) -> None:
        self.definition = definition
        #: Accepted names under which it is served.
        self.names = names
        self.storage = storage
        self.life = life
        self.served: list[ServedResource] = []
        self.versions = versions


class _Starter:
    """Starts syncs of the definitions that are due, at each change (a ``WatchWaiter``).

    They start in the turn of the loop in which the change is applied, so that a client that waits for the response to its
    write finds names accepted soon after.
    """

    def __init__(self, start: Callable[[], None]) -> None:
        self._start = start
        self._is_stopped = False

    def wake(self) -> None:
        if not self._is_stopped:
            self._start()

    def stop(self) -> None:
        """Start nothing more."""
        self._is_stopped = True


class CustomResources:
    """Served custom resources. ``run`` it as a task; ``synced`` is set after the first sync of all definitions."""

    def __init__(
        self,
        registry: Registry,
        catalog: Catalog,
        *,
        clock: Clock,
        writer: DefinitionWriter,
        conversions: ConversionServices,
    ) -> None:
        self._registry = registry
        self._catalog = catalog
        self._clock = clock
        self._writer = writer
        self._conversions = conversions
        self._definitions = registry.stored(_DEFINITIONS)
        #: Last synced version by definition name.
        self._synced_revisions: dict[str, int] = {}
        #: Revision and earliest time of the next try, by the name of a definition whose sync failed.
        self._retries: dict[str, tuple[int, float]] = {}
        #: Definitions whose names are not all accepted.
        self._conflicting: Final[set[str]] = set()
        #: Definitions whose accepted names have changed in the store, and maybe not in the cache yet.
        self._renamed: Final[set[str]] = set()
        self._names: Final = GroupNames()
        self._definitions.cache.follow(self._names)
        #: Groups with a running sync.
        self._busy: set[str] = set()
        self._custom: dict[str, _Custom] = {}
        self.synced = asyncio.Event()

    def schema(self, resource: Resource) -> LazySchema | None:
        """Return the schema of a custom resource (``openapi.sources.CustomSchemas``)."""
        custom = self._custom.get(resource.group_resource)
        version = custom.versions.get(resource.version) if custom is not None else None
        return version.schema if version is not None else None

    async def run(self) -> None:
        """Sync the definitions until cancelled: those of a group one after the other, the groups side by side."""
        cache = self._definitions.cache
        await cache.ready()
        try:
            async with asyncio.TaskGroup() as tasks:
                starter = _Starter(lambda: self._start_due(tasks, starter))
                cache.wakeups.add_controller(starter)
                try:
                    starter.wake()
                    await asyncio.get_running_loop().create_future()  # until cancelled
                finally:
                    starter.stop()
                    cache.wakeups.remove_controller(starter)
        finally:
            for custom in self._custom.values():
                custom.storage.cache.close()

    def _start_due(self, tasks: asyncio.TaskGroup, starter: _Starter) -> None:
        due = self._due_by_group()
        for group, names in due.items():
            self._busy.add(group)
            tasks.create_task(self._sync_group(group, names, starter), name=f"definitions of {group}")
        if not due and not self._busy:
            self.synced.set()

    def _due_by_group(self) -> dict[str, list[str]]:
        """Return the names of new, changed and deleted definitions by group, without those of groups being synced."""
        entries = {entry.name: entry for entry in self._definitions.cache.snapshot()}
        names = [name for name in self._synced_revisions if name not in entries]
        names += [name for name, entry in entries.items() if self._synced_revisions.get(name) != entry.revision]
        self._retries = {name: retry for name, retry in self._retries.items() if name in entries}
        now = self._clock.monotonic()
        due: dict[str, list[str]] = {}
        for name in names:
            group = name.partition(".")[2]
            entry = entries.get(name)
            revision, earliest = self._retries.get(name, (0, 0.0))
            is_paused = entry is not None and entry.revision == revision and now < earliest
            if group not in self._busy and not is_paused:
                due.setdefault(group, []).append(name)
        return due

    async def _sync_group(self, group: str, names: Iterable[str], starter: _Starter) -> None:
        """Sync definitions of one group, whose names must not conflict; those that fail are due again after a pause."""
        try:
            for name in names:
                await self._sync(name, starter)
                await next_turn()  # requests take turns with many definitions
        finally:
            self._busy.discard(group)
            starter.wake()

    async def _sync(self, name: str, starter: _Starter) -> None:
        self._retries.pop(name, None)
        cache = self._definitions.cache
        entry = cache.get(cache.key("", name))
        if entry is None:
            self._stop_serving(name)
            self._synced_revisions.pop(name, None)
            self._conflicting.discard(name)
            self._renamed.discard(name)
            self._reconsider_conflicts(name)
            return
        try:
            is_settled = await self._look(name, entry)
        except (StatusError, StoreError) as error:
            _log.info("definition %s: %s", name, error)
            is_settled = False
        except Exception:  # noqa: BLE001 — one that cannot be read must not end the service of all others
            _log.exception("definition %s cannot be served", name)
            is_settled = True
        if is_settled:
            self._synced_revisions[name] = entry.revision
        else:
            self._retries[name] = (entry.revision, self._clock.monotonic() + _RETRY_SECONDS)
            self._clock.timer(_RETRY_SECONDS, starter.wake)

    async def _look(self, name: str, entry: Entry) -> bool:
        definition = outline_of(entry.raw)
        if name in self._renamed:
            self._renamed.discard(name)
            self._reconsider_conflicts(name)
        now = self._clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        if definition["metadata"].get("deletionTimestamp"):
            return await self._empty(name, self._definitions.cache.layout.tree(entry), entry, now=now)
        status = naming.plan_status(definition, self._names.others(name), now=now)
        if status is not None:
            if (definition.get("status") or {}).get("acceptedNames") != status["acceptedNames"]:
                self._renamed.add(name)
            definition["status"] = status
            await self._writer.put_status({**self._definitions.cache.layout.tree(entry), "status": status})
        if condition_is(definition, "NamesAccepted", "False"):
            self._conflicting.add(name)
        else:
            self._conflicting.discard(name)
        if is_established(definition):
            self._serve(name, definition, entry)
        else:
            self._stop_serving(name)
        return True

    def _reconsider_conflicts(self, name: str) -> None:
        """Make the conflicting definitions of a definition's group due, as it may have released names.

        Upstream: ``requeueAllOtherGroupCRDs``.
        """
        group = name.partition(".")[2]
        for other in self._conflicting:
            if other != name and other.partition(".")[2] == group:
                self._synced_revisions.pop(other, None)

    async def _empty(self, name: str, definition: Tree, entry: Entry, *, now: str) -> bool:
        """Delete the objects of a terminating definition, then remove its finalizer. Each step is written to the status
        first.
        """
        if is_established(definition):
            self._serve(name, definition, entry)  # what holds its objects must be able to release them
        if CLEANUP_FINALIZER not in (definition["metadata"].get("finalizers") or ()):
            return True
        custom = self._custom.get(name)
        ending = naming.ending_of(definition)
        if ending is None:
            ending = (
                naming.DeletionProgress.NEVER_ESTABLISHED if custom is None else naming.DeletionProgress.IN_PROGRESS
            )
        elif ending is not naming.DeletionProgress.IN_PROGRESS:
            await self._writer.release(definition)
            return True
        elif custom is not None and await self._delete_objects(custom.storage):
            return False
        else:
            ending = naming.DeletionProgress.COMPLETED
        updated = {**definition, "status": naming.with_ending(definition, ending, now=now)}
        if custom is not None:
            self._tell_life(custom, updated)  # before the status is visible to clients
        await self._writer.put_status(updated)
        return True

    async def _delete_objects(self, storage: StoredResource) -> int:
        """Delete all objects of a definition; return how many remain (held by finalizers).

        Bypasses the API and admission, as upstream's finalizing controller does: the API may not serve the objects.
        """
        cache = storage.cache
        ctx = RequestContext(SERVER_USER, self._clock.now(), group_resource=storage.strategy.group_resource)

        async def delete_one(entry: Entry, admitted: Callable[[], None]) -> None:
            admitted()
            object_ctx = ctx.changed(namespace=cache.namespace_of(entry))
            await deletion.delete(storage.objects, object_ctx, entry.name, DeleteOptions())

        await cache.wait_fresh()
        await deletion.delete_each(cache.snapshot(), delete_one)
        await cache.wait_fresh()
        return len(cache)

    def _serve(self, name: str, definition: Tree, entry: Entry) -> None:
        current = self._custom.get(name)
        names = definition["status"].get("acceptedNames")  # may be newer than those of the entry
        if current is not None and current.names == names and have_equal_specs(current.definition.entry.raw, entry.raw):
            current.definition.entry = entry  # releases the previous one
            self._tell_life(current, definition)
            return  # keeps its watches
        source_definition = _StoredDefinition(entry)
        form = _Form(definition, self._conversions, source_definition.tree)
        life = DefinitionState()
        strategy = CustomResourceStrategy(form.stored, form.stored, labels_of(form.served), life, form.versions)
        storage = self._registry.create_stored(form.stored.resource, strategy, keeps_api_version=True)
        if current is not None:
            self._withdraw(current)
        custom = _Custom(source_definition, names, storage, life, {v.resource.version: v for v in form.served})
        for version in form.served:
            served = form.served_resource(version, storage, life)
            custom.served.append(served)
            self._registry.add(served)
            self._catalog.add(version.resource)
        self._custom[name] = custom
        self._tell_life(custom, definition)

    def _tell_life(self, custom: _Custom, definition: Tree) -> None:
        """Reject creates while the definition terminates, and update discovery."""
        is_terminating = condition_is(definition, "Terminating", "True")
        if custom.life.is_terminating is is_terminating:
            return
        custom.life.is_terminating = is_terminating
        for version in custom.versions.values():
            verbs = _VERBS_AT_THE_END if is_terminating else version.resource.verbs
            self._catalog.add(msgspec.structs.replace(version.resource, verbs=verbs))

    def _stop_serving(self, name: str) -> None:
        custom = self._custom.pop(name, None)
        if custom is not None:
            self._withdraw(custom)

    def _withdraw(self, custom: _Custom) -> None:
        for served in custom.served:
            resource = served.resource
            self._registry.remove(resource.group, resource.version, resource.name)
            self._catalog.remove(resource)
        custom.storage.cache.close()


def _decode(schema: LazySchema, tree: Tree) -> tuple[Tree, list[str]]:
    return structure.decode(schema.shape, tree)


class _Form:
    """The versions of a definition, and how each is served."""

    def __init__(self, definition: Tree, conversions: ConversionServices, load: Callable[[], Tree]) -> None:
        self.versions: Final = all_versions(definition, load)
        self.stored: Final = next(version for version in self.versions.values() if version.is_stored)
        self.served: Final = [version for version in self.versions.values() if version.is_served]
        self._labels: Final = labels_of(self.served)
        #: Objects of an unchanged definition have no unspecified fields.
        self._is_unchanged: Final = definition["metadata"].get("generation") == 1
        conversion = definition["spec"].get("conversion") or {}
        self._webhook: Final = (
            ConversionWebhook(definition["metadata"]["name"], conversion, conversions)
            if conversion.get("strategy") == "Webhook" and len(self.versions) > 1
            else None
        )

    def served_resource(self, version: CustomVersion, storage: StoredResource, life: DefinitionState) -> ServedResource:
        """Return the resource in one version."""
        if self._webhook is None:
            return self._renamed(version, storage, life)
        return self._converted(version, storage, life, self._webhook)

    def _renamed(self, version: CustomVersion, storage: StoredResource, life: DefinitionState) -> ServedResource:
        """Return a version that differs from the others in its apiVersion and schema (``strategy: None``)."""
        resource, stored = version.resource, self.stored

        def store(tree: Tree) -> Tree:
            tree["apiVersion"] = resource.storage_api_version
            return tree

        other = version is not stored
        # Defaults of the schema apply to objects stored before it had them, and to fields that no write of a whole object sets.
        has_all_defaults = not ((stored.scale is not None or stored.defaults_status) and stored.has_defaults)
        is_shown_as_stored = self._is_unchanged and not other and has_all_defaults
        strategy = CustomResourceStrategy(version, stored, self._labels, life, self.versions)
        return ServedResource(
            resource,
            storage=storage.objects.under(strategy),
            cache=storage.cache,
            strategy=strategy,
            struct=version.schema.load_struct,
            to_storage=store if other else None,
            from_storage=None
            if is_shown_as_stored
            else partial(structure.shown, version, stored, versions=self.versions),
            is_custom=True,
            custom_versions=self.versions.keys(),
            field_labels={label: label for label in labels_of([version])},
            decode=partial(_decode, version.schema),
        )

    def _converted(
        self, version: CustomVersion, storage: StoredResource, life: DefinitionState, webhook: ConversionWebhook
    ) -> ServedResource:
        """Return a version that a webhook converts."""
        labels = labels_of([version])
        layout = Layout(version.resource.kind, version.resource.api_version)
        converter = VersionConverter(
            webhook,
            version,
            self.stored,
            self.versions,
            layouts=(layout, storage.cache.layout),
            is_unchanged=self._is_unchanged,
        )
        strategy = CustomResourceStrategy(version, version, labels, life, {})
        return ServedResource(
            version.resource,
            storage=ConvertingStore(storage.objects, strategy, layout, converter),
            cache=storage.cache,
            strategy=strategy,
            struct=version.schema.load_struct,
            is_custom=True,
            custom_versions=self.versions.keys(),
            field_labels={label: label for label in labels},
            decode=partial(_decode, version.schema),
            converter=converter,
            layout=layout,
        )
