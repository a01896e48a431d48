from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from tests.unit.apiserver.reading import World
from tests.unit.apiserver.writing import CONFIG_MAPS, DEPLOYMENTS, Server, deployment

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.admission.chain import ORDER, AdmissionChain
from steersman.apiserver.admission.interface import Attributes, Operation, Plugin
from steersman.apiserver.admission.lookups import Lookup, whole
from steersman.apiserver.admission.plugin_metrics import PluginMetrics
from steersman.apiserver.generic.served import ServedResource
from steersman.apiserver.generic.strategy import Strategy
from steersman.apiserver.request import RequestContext, UserInfo
from steersman.asynckit.clock import FakeClock
from steersman.schema.resources import table

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from steersman.schema.resources import Resource

A = f"{CONFIG_MAPS}/a"


class Recorder(Plugin):
    """Plugin that records its calls, and runs an action."""

    def __init__(self, name: str, log: list[Any], *, wants: Any = None, change: Any = None, refuse: str = "") -> None:
        self.name = name  # type: ignore[misc]
        self.log = log
        self.wants = wants
        self.change = change
        self.refuse = refuse

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        resource_name = f"{resource.name}/{subresource}".rstrip("/")
        return resource.name != "namespaces" and (self.wants is None or (resource_name, str(operation)) in self.wants)

    async def admit(self, attributes: Attributes) -> None:
        resource_name = f"{attributes.resource.name}/{attributes.subresource}".rstrip("/")
        self.log.append((self.name, "admit", resource_name, str(attributes.operation)))
        if self.change is not None:
            self.change(attributes)

    async def validate(self, attributes: Attributes) -> None:
        resource_name = f"{attributes.resource.name}/{attributes.subresource}".rstrip("/")
        self.log.append((self.name, "validate", resource_name, str(attributes.operation)))
        if self.refuse:
            raise attributes.forbidden(self.refuse)


def _parts(log: list[Any]) -> list[tuple[str, str]]:
    return [entry[:2] for entry in log]


async def test_mutating_plugins_run_before_validating_ones_in_upstreams_order():
    log: list[Any] = []
    async with Server(Recorder("ResourceQuota", log), Recorder("Priority", log)) as server:
        await server.make()
        assert _parts(log) == [
            ("Priority", "admit"),
            ("ResourceQuota", "admit"),
            ("Priority", "validate"),
            ("ResourceQuota", "validate"),
        ]


def test_plugin_without_a_position_is_rejected():
    with pytest.raises(ValueError, match="Unheard"):
        AdmissionChain([Recorder("Unheard", [])])
    assert len(set(ORDER)) == len(ORDER)


async def test_write_calls_only_plugins_that_handle_it():
    log: list[Any] = []
    wants = {("deployments/scale", "UPDATE"), ("configmaps", "DELETE")}
    async with Server(Recorder("Priority", log, wants=wants)) as server:
        await server.make()
        await server.make(DEPLOYMENTS, spec=deployment())
        assert log == []
        await server.merge(f"{DEPLOYMENTS}/a/scale", {"spec": {"replicas": 3}})
        await server.call("DELETE", A)
        assert [entry[2:] for entry in log] == [("deployments/scale", "UPDATE")] * 2 + [("configmaps", "DELETE")] * 2


async def test_mutations_are_stored_and_owned_by_the_writer():
    def label(attributes: Attributes) -> None:
        attributes.object["metadata"].setdefault("labels", {})["by"] = "plugin"

    async with Server(Recorder("Priority", [], change=label)) as server:
        created = await server.make()
        assert created["metadata"]["labels"] == {"by": "plugin"}
        assert "f:labels" not in str(created["metadata"].get("managedFields"))
        answer = await server.merge(A, {"data": {"k": "v"}})
        assert answer.body["metadata"]["labels"] == {"by": "plugin"}


async def test_validation_rejects_invalid_mutation():
    def spoil(attributes: Attributes) -> None:
        attributes.object["metadata"]["labels"] = {"by": "not a label"}

    async with Server(Recorder("Priority", [], change=spoil)) as server:
        answer = await server.call("POST", CONFIG_MAPS, {"metadata": {"name": "a"}})
        assert (answer.code, answer.body["details"]["causes"][0]["field"]) == (422, "metadata.labels")


async def test_strategy_validation_precedes_validating_plugins():
    log: list[Any] = []
    async with Server(Recorder("Priority", log)) as server:
        answer = await server.call("POST", CONFIG_MAPS, {"metadata": {"name": "A!"}})
        assert (answer.code, _parts(log)) == (422, [("Priority", "admit")])


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_rejection_prevents_the_write(method):
    async with Server() as before:
        await before.make()
    refuse = {("configmaps", {"POST": "CREATE", "DELETE": "DELETE"}.get(method, "UPDATE"))}
    async with Server(Recorder("Priority", [], wants=refuse, refuse="no")) as server:
        if method == "POST":
            answer = await server.call("POST", CONFIG_MAPS, {"metadata": {"name": "a"}})
        else:
            await server.make()
            revision = server.store.revision
            answer = (
                await server.merge(A, {"data": {"k": "v"}})
                if method == "PATCH"
                else await server.call(method, A, {"metadata": {"name": "a"}} if method == "PUT" else None)
            )
            assert server.store.revision == revision
        assert (answer.code, answer.body["message"]) == (403, 'configmaps "a" is forbidden: no')


async def test_attributes_have_old_object_and_dry_run():
    seen: list[Attributes] = []
    async with Server(Recorder("Priority", [], change=seen.append)) as server:
        await server.make(data={"k": "1"})
        await server.merge(A, {"data": {"k": "2"}}, query="dryRun=All")
        create, update = seen
        assert (create.old_object, create.dry_run) == (None, False)
        assert (update.old_object["data"], update.object["data"]) == ({"k": "1"}, {"k": "2"})
        assert update.dry_run
        assert update.options.tree("UpdateOptions")["dryRun"] == ["All"]


async def test_create_on_update_has_operation_create():
    log: list[Any] = []
    async with Server(Recorder("Priority", log)) as server:
        leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
        body = {"kind": "Lease", "apiVersion": "coordination.k8s.io/v1", "metadata": {"name": "a"}, "spec": {}}
        answer = await server.call("PUT", f"{leases}/a", body)
        assert (answer.code, {entry[3] for entry in log}) == (201, {"CREATE"})


class SkippedWhileEmpty(Plugin):
    name: ClassVar[str] = "AlwaysDeny"

    def __init__(self, rules: Lookup[Any]) -> None:
        self.rules = rules
        self.call_count = 0

    def handles(self, resource: object, subresource: str, operation: Operation) -> bool:
        del resource, subresource, operation
        return True

    def skip_while_empty(self) -> Lookup[Any]:
        return self.rules

    async def admit(self, attributes: Attributes) -> None:
        del attributes
        self.call_count += 1

    async def validate(self, attributes: Attributes) -> None:
        del attributes
        self.call_count += 1


async def test_plugin_is_skipped_while_its_lookup_is_empty():
    world = World()
    await world.cache.ready()
    plugin = SkippedWhileEmpty(Lookup(world.cache, whole))
    clock = FakeClock()
    kept_nowhere = {"storage": None, "cache": None, "clock": clock, "struct": None}
    served = ServedResource(table().resources[0], strategy=Strategy(), **kept_nowhere)
    steps = AdmissionChain([plugin]).steps(served, "", Operation.CREATE)
    ctx = RequestContext(UserInfo("alice"), clock.now())
    write = Attributes(Operation.CREATE, served, ctx, name="a", obj={})
    for change, requested in ((None, 0), (world.put, 2), (world.delete, 2)):
        if change is not None:
            await change("a")
        await steps.mutate(write)
        await steps.check(write)
        assert plugin.call_count == requested


class CallRecorder(Plugin):
    """Plugin that records its calls, with or without waiting."""

    def __init__(self, name: str, log: list[str], *, waits: bool = False, refuses: bool = False) -> None:
        self.name = name  # type: ignore[misc]
        self._log = log
        self._waits = waits
        self._refuses = refuses

    def handles(self, resource: object, subresource: str, operation: Operation) -> bool:
        del resource, subresource, operation
        return True

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        if self._waits:
            return self._later(attributes)
        self._record(attributes)
        return None

    async def _later(self, attributes: Attributes) -> None:
        await asyncio.sleep(0)  # noqa: TID251 — no time passes, others get their turn
        self._record(attributes)

    def _record(self, attributes: Attributes) -> None:
        self._log.append(self.name)
        if self._refuses:
            raise attributes.forbidden(self.name)


@pytest.mark.parametrize("waiting", [(), (0,), (1,), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("refusing", [None, 0, 1, 2])
async def test_plugins_run_in_order_whether_they_wait_or_not(waiting, refusing):
    log: list[str] = []
    names = ("NamespaceLifecycle", "Priority", "AlwaysDeny")
    plugins = [CallRecorder(name, log, waits=n in waiting, refuses=n == refusing) for n, name in enumerate(names)]
    clock = FakeClock()
    kept_nowhere = {"storage": None, "cache": None, "clock": clock, "struct": None}
    served = ServedResource(table().resources[0], strategy=Strategy(), **kept_nowhere)
    steps = AdmissionChain(plugins).steps(served, "", Operation.CREATE)
    write = Attributes(Operation.CREATE, served, RequestContext(UserInfo("alice"), clock.now()), name="a", obj={})
    if refusing is None:
        await steps.mutate(write)
    else:
        with pytest.raises(StatusError, match=names[refusing]):
            await steps.mutate(write)
    assert log == list(names if refusing is None else names[: refusing + 1])


@pytest.mark.parametrize(("waiting", "accepted_seconds", "step_seconds"), [((), 0, 1), ((0,), 1, 3), ((0, 1, 2), 1, 3)])
async def test_plugins_and_steps_are_timed_by_outcome(waiting, accepted_seconds, step_seconds):
    names = ("NamespaceLifecycle", "Priority", "AlwaysDeny")
    plugins = [CallRecorder(name, [], waits=n in waiting, refuses=n == 1) for n, name in enumerate(names)]
    clock, metrics = FakeClock(), PluginMetrics()
    stored_nowhere = {"storage": None, "cache": None, "clock": clock, "struct": None}
    served = ServedResource(table().resources[0], strategy=Strategy(), **stored_nowhere)
    seconds = itertools.count().__next__
    steps = AdmissionChain(plugins, metrics=metrics, monotonic=seconds).steps(served, "", Operation.CREATE)
    write = Attributes(Operation.CREATE, served, RequestContext(UserInfo("alice"), clock.now()), name="a", obj={})
    with pytest.raises(StatusError):
        await steps.mutate(write)
    accepted, rejected, unreached = (metrics.of_plugin(name, "CREATE", "admit") for name in names)
    assert (accepted.accepted.count, accepted.accepted.total, accepted.rejected.count) == (1, accepted_seconds, 0)
    assert (rejected.accepted.count, rejected.rejected.count, rejected.rejected.total) == (0, 1, 1)
    assert unreached.accepted.count == unreached.rejected.count == 0
    step = metrics.of_step("CREATE", "admit")
    assert (step.accepted.count, step.rejected.count, step.rejected.total) == (0, 1, step_seconds)
