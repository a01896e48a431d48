"""Leader election of components by their options."""

import asyncio
import random

import pytest

import steersman.controlplane.bootstrap.loops  # noqa: F401 — so that the server need not import it while time stands still
from steersman.asynckit.clock import FakeClock
from steersman.client import Client
from steersman.client.leaderelection.candidate import CANDIDATES
from steersman.client.leaderelection.lock import LEASES
from steersman.controllers.manager.options import ManagerOptions
from steersman.controlplane.loopback_transport import LoopbackTransport
from steersman.runtime.context import ControllerContext
from steersman.runtime.leader_election import elector_for, emulation_version_of, timing_of
from steersman.scheduler.options import SchedulerOptions
from steersman.storage.memory import MemoryStore
from steersman.testing import InProcessAPIServer


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
async def client(clock):
    async with InProcessAPIServer(
        store=MemoryStore(clock=clock), clock=clock, with_bootstrap_controller=True
    ) as server:
        yield Client(LoopbackTransport(server.core.client), clock=clock)


async def pass_until(clock, holds):
    for _ in range(200):
        if holds():
            return
        await clock.advance(0.1)
    raise AssertionError("the condition did not become true")


@pytest.mark.parametrize("options_class", [ManagerOptions, SchedulerOptions])
async def test_component_deletes_its_candidate_when_it_stops(client, clock, options_class):
    options = options_class(coordinated_leader_election=True, emulated_version=("kube=1.35",))
    elector = elector_for(options, ControllerContext(client, dice=random.Random(1)), identity="me", component="test")
    term = asyncio.create_task(elector.run(asyncio.get_running_loop().create_future))
    await pass_until(clock, lambda: elector.is_leader)
    candidate = await client.get(CANDIDATES, "me", namespace="kube-system")
    assert candidate["spec"]["emulationVersion"] == "1.35.0"
    assert candidate["spec"]["binaryVersion"].startswith("1.36.")
    assert candidate["spec"]["leaseName"] == options.leader_elect_resource_name
    term.cancel()
    await pass_until(clock, term.done)
    assert await client.list_all(CANDIDATES, namespace="kube-system") == []
    lease = await client.get(LEASES, options.leader_elect_resource_name, namespace="kube-system")
    assert not lease["spec"].get("holderIdentity")


async def test_component_without_coordination_contends_for_its_lease(client, clock):
    options = SchedulerOptions(leader_elect_resource_name="mine", leader_elect_resource_namespace="default")
    elector = elector_for(options, ControllerContext(client, dice=random.Random(1)), identity="me", component="test")
    term = asyncio.create_task(elector.run(asyncio.get_running_loop().create_future))
    await pass_until(clock, lambda: elector.is_leader)
    assert (await client.get(LEASES, "mine", namespace="default"))["spec"]["holderIdentity"] == "me"
    assert await client.list_all(CANDIDATES, namespace="default") == []
    term.cancel()
    await pass_until(clock, term.done)


def test_timing_of_rejects_periods_that_do_not_fit():
    with pytest.raises(ValueError, match="leaseDuration must be greater than renewDeadline"):
        timing_of(SchedulerOptions(leader_elect_lease_duration_seconds=1))


@pytest.mark.parametrize(
    ("values", "version"),
    [
        ((), "1.36.0"),
        (("1.36",), "1.36.0"),
        (("kube=1.35",), "1.35.0"),
        (("kube=v1.33.7",), "1.33.0"),
        (("1.34", "kube=1.35"), "1.35.0"),
    ],
)
def test_emulation_version_is_the_minor_version_that_was_given_last(values, version, monkeypatch):
    monkeypatch.setattr("steersman.runtime.leader_election.KUBERNETES_VERSION", "v1.36.0")
    assert emulation_version_of(values) == version


@pytest.mark.parametrize("value", ["1.32", "kube=1.37", "2.0"])
def test_emulation_version_out_of_range_is_rejected(value, monkeypatch):
    monkeypatch.setattr("steersman.runtime.leader_election.KUBERNETES_VERSION", "v1.36.2")
    text = value.removeprefix("kube=")
    with pytest.raises(ValueError, match=rf"emulation version {text} is not between \[1\.33, 1\.36\.2\]"):
        emulation_version_of((value,))
