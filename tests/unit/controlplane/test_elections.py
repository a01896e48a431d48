"""Elections against a server with a fake clock, including weaknesses of upstream's implementation."""

import asyncio
from datetime import timedelta

import msgspec
import pytest

from steersman.apimachinery.timestamps import format_micro_time
from steersman.asynckit.clock import FakeClock
from steersman.client import tree
from steersman.client.errors import NotFound, ServiceUnavailable
from steersman.controlplane.bootstrap import loops
from steersman.controlplane.elections.kinds import CANDIDATES, LEASES
from steersman.controlplane.elections.objects import read_lease
from steersman.controlplane.elections.view import show_elections
from steersman.controlplane.options import APIServerOptions
from steersman.storage.memory import MemoryStore
from steersman.testing import InProcessAPIServer

OURS = "OldestEmulationVersion"
EVENTS = tree("v1", "Event")


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
async def server(clock):
    async with InProcessAPIServer(
        store=MemoryStore(clock=clock), clock=clock, with_bootstrap_controller=True
    ) as started:
        await pass_seconds(clock, 0.5)
        yield started


@pytest.fixture
def client(server):
    return server.core.bootstrap.client


@pytest.fixture
def election(server, clock):
    return Election(server.core.bootstrap.client, clock)


async def pass_seconds(clock, seconds):
    for _ in range(round(seconds * 10)):
        await clock.advance(0.1)


class Election:
    """Actions of the candidates of one Lease."""

    def __init__(self, client, clock):
        self.client, self.clock = client, clock

    def now(self):
        return format_micro_time(self.clock.now())

    async def join(self, name, emulation="1.36.0", *, strategy=OURS, binary="1.36.0", version="v1beta1", age=0):
        spec = {"leaseName": "lead", "strategy": strategy, "emulationVersion": emulation, "binaryVersion": binary}
        await self.client.create(
            {
                "apiVersion": f"coordination.k8s.io/{version}",
                "kind": "LeaseCandidate",
                "metadata": {"namespace": "default", "name": name},
                "spec": {**spec, "renewTime": format_micro_time(self.clock.now() - timedelta(seconds=age))},
            }
        )

    async def answer(self, *names):
        for name in names:
            await self.client.patch(CANDIDATES, name, {"spec": {"renewTime": self.now()}}, namespace="default")

    async def candidate(self, name):
        return (await self.client.get(CANDIDATES, name, namespace="default"))["spec"]

    async def renew(self, **spec):
        await self.client.patch(
            LEASES, "lead", {"spec": {"renewTime": self.now(), "leaseDurationSeconds": 15, **spec}}, namespace="default"
        )

    async def lease(self):
        return read_lease(await self.client.get(LEASES, "lead", namespace="default"))

    async def reported_events(self):
        events = await self.client.list(EVENTS, namespace="default")
        return [(event["type"], event["reason"]) for event in events if event["involvedObject"]["name"] == "lead"]


# -- what upstream does, too -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["v1beta1", "v1alpha2"])
async def test_candidate_of_any_served_version_is_elected_at_once(election, clock, version):
    await election.join("a", version=version)
    await pass_seconds(clock, 0.1)
    lease = await election.lease()
    assert (lease.holder, lease.strategy, lease.duration_seconds) == ("a", OURS, 5)
    await pass_seconds(clock, 0.5)
    assert await election.reported_events() == [("Normal", "LeaderElected")]


async def test_better_candidate_leads_within_a_second_after_the_holder_yields(election, clock):
    """Upstream's planned hand-over has no leader for 8 to 17 seconds."""
    await election.join("a")
    await pass_seconds(clock, 7)
    await election.answer("a")
    await election.renew(holderIdentity="a")
    await pass_seconds(clock, 7)
    await election.join("better", "1.35.0")
    await pass_seconds(clock, 0.2)
    assert "pingTime" in await election.candidate("a")
    await election.answer("a")
    await pass_seconds(clock, 0.2)
    assert (await election.lease()).preferred == "better"
    await election.renew(holderIdentity="")
    await pass_seconds(clock, 0.2)
    lease = await election.lease()
    assert (lease.holder, lease.preferred) == ("better", "")


# -- what upstream does not --------------------------------------------------------------------------------------------


async def test_expired_lease_is_assigned_at_its_expiration_without_an_event(election, clock):
    await election.join("a")
    await pass_seconds(clock, 0.5)
    await election.join("b")
    await pass_seconds(clock, 4)
    assert "pingTime" not in await election.candidate("a")
    await pass_seconds(clock, 0.7)
    assert "pingTime" in await election.candidate("a")
    await election.answer("b")
    await pass_seconds(clock, 5.2)
    assert (await election.lease()).holder == "b"


async def test_election_continues_when_the_preferred_holder_is_gone_before_the_release(election, clock, client):
    await election.join("a")
    await pass_seconds(clock, 0.2)
    await election.renew()
    await election.join("better", "1.35.0")
    await pass_seconds(clock, 0.2)
    assert (await election.lease()).preferred == "better"
    await client.delete(CANDIDATES, "better", namespace="default")
    await pass_seconds(clock, 0.2)
    lease = await election.lease()
    assert (lease.holder, lease.preferred) == ("a", "")


async def test_election_continues_when_the_preferred_holder_is_gone_after_the_release(election, clock):
    await election.join("a")
    await pass_seconds(clock, 0.2)
    await election.renew()
    await election.join("better", "1.35.0")
    await pass_seconds(clock, 6)
    await election.renew(holderIdentity="")
    await pass_seconds(clock, 0.3)
    await election.answer("a")
    await pass_seconds(clock, 5.2)
    await election.answer("a")
    await pass_seconds(clock, 0.3)
    assert (await election.lease()).holder == "a"


async def test_failed_step_is_retried(election, clock, client, monkeypatch):
    create, failures = client.create, iter([True, True])

    async def fail_first(obj, **options):
        if obj["kind"] == "Lease" and next(failures, False):
            raise ServiceUnavailable({"code": 503, "message": "not now"})
        return await create(obj, **options)

    monkeypatch.setattr(client, "create", fail_first)
    await election.join("a")
    await pass_seconds(clock, 1)
    assert (await election.lease()).holder == "a"


async def test_failed_ping_does_not_prevent_other_pings(election, clock, client, monkeypatch):
    patch, requested = client.patch, []

    async def fail_for_a(resource, name, body, **options):
        if "pingTime" in body["spec"]:
            requested.append(name)
            if name == "a" and requested.count("a") == 1:
                raise ServiceUnavailable({"code": 503, "message": "not now"})
        return await patch(resource, name, body, **options)

    monkeypatch.setattr(client, "patch", fail_for_a)
    await asyncio.gather(*(election.join(name, age=60) for name in "abc"))
    await pass_seconds(clock, 0.5)
    assert sorted(set(requested)) == ["a", "b", "c"]
    assert "pingTime" in await election.candidate("b")
    await pass_seconds(clock, 1.2)
    assert "pingTime" in await election.candidate("a")


async def test_equal_candidates_do_not_replace_each_other(election, clock):
    for name in ("b", "a"):
        await election.join(name)
    await pass_seconds(clock, 0.2)
    holder = (await election.lease()).holder
    for _ in range(10):
        await pass_seconds(clock, 4)
        await election.answer("a", "b")
        await election.renew()
    lease = await election.lease()
    assert (lease.holder, lease.preferred) == (holder, "")


async def test_third_party_lease_without_holder_is_not_changed(election, clock, server):
    await election.join("a", strategy="example.com/mine")
    await pass_seconds(clock, 0.5)
    lease = await election.lease()
    assert (lease.holder, lease.strategy) == ("", "example.com/mine")
    await pass_seconds(clock, 30)
    assert (await election.lease()).resource_version == lease.resource_version


async def test_strategy_conflict_is_reported_in_any_order(election, clock):
    await election.join("b", strategy="example.com/mine")
    await election.join("a")
    await election.join("old", binary="1.35.0", emulation="1.35.0", strategy="example.com/other")
    await pass_seconds(clock, 1)
    assert ("Warning", "StrategyConflict") in await election.reported_events()


async def test_unresponsive_candidates_are_reported_once(election, clock):
    await election.join("a")
    await pass_seconds(clock, 60)
    reported_events = await election.reported_events()
    assert reported_events.count(("Warning", "NoAvailableCandidates")) == 1


async def test_expired_candidates_are_deleted_within_about_an_hour(election, clock, client):
    await election.join("a")
    for _ in range(400):
        await clock.advance(10)
    with pytest.raises(NotFound):
        await election.candidate("a")


async def test_two_servers_run_one_election(election, clock, server):
    """Both run steps; the later one writes nothing."""
    second = loops.BootstrapLoops(server.core.bootstrap)

    task = asyncio.create_task(second.run())
    await pass_seconds(clock, 0.5)
    await election.join("a")
    await pass_seconds(clock, 0.5)
    await election.renew()
    await election.join("better", "1.35.0")
    await pass_seconds(clock, 0.5)
    lease = await election.lease()
    assert (lease.holder, lease.preferred) == ("a", "better")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_candidates_api_requires_the_feature_gate(clock):
    options = APIServerOptions(ephemeral=True, feature_gates={"CoordinatedLeaderElection": False})
    store = MemoryStore(clock=clock)
    async with InProcessAPIServer(options=options, store=store, clock=clock, with_bootstrap_controller=True) as server:
        with pytest.raises(NotFound):
            await server.core.bootstrap.client.list(CANDIDATES)
        group = await server.request("GET", "/apis/coordination.k8s.io")
    assert [one["version"] for one in msgspec.json.decode(group.body)["versions"]] == ["v1"]


async def test_metrics_count_decisions_by_reason(election, clock, server):
    await election.join("a")
    await pass_seconds(clock, 0.5)
    text = (await server.request("GET", "/metrics")).body.decode()
    assert 'steersman_election_decisions_total{reason="LeaderElected"} 1' in text.splitlines()
    assert 'steersman_election_leader_changes_total{namespace="default",name="lead"} 1' in text.splitlines()


async def test_show_elections_prints_leases_and_candidates(election, clock, client):
    await election.join("a")
    await pass_seconds(clock, 1)
    await election.join("better", "1.35.0", binary="1.37.0")
    leases, candidates = await client.list(LEASES), await client.list(CANDIDATES)
    assert show_elections(leases, candidates, now=clock.now()) == (
        "default/lead: a leads for 4 s more (OldestEmulationVersion)\n"
        "  CANDIDATE  EMULATION  BINARY  STRATEGY                RENEWED  STATE    ROLE\n"
        "  a          1.36.0     1.36.0  OldestEmulationVersion  1 s ago  answers  leader\n"
        "  better     1.35.0     1.37.0  OldestEmulationVersion  0 s ago  answers  -\n"
        "  next: ask the holder to leave it to better, look again in 2.3 s\n"
        "  why:  PreferredHolderMarked: better is better than a, who holds it\n"
    )
    assert show_elections(leases, [], now=clock.now()) == "no candidates, so no elections\n"
    assert "make the Lease, with better as its holder" in show_elections([], candidates, now=clock.now())
