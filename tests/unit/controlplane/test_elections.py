"""Elections against a server, with a clock that stands still: the weaknesses of upstream's that ours must not have."""

import asyncio
from datetime import timedelta

import pytest

from steersman.apimachinery.timestamps import format_micro_time
from steersman.asynckit.clock import FakeClock
from steersman.client import tree
from steersman.client.errors import NotFound, ServiceUnavailable
from steersman.controlplane import running_loops
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
    async with InProcessAPIServer(store=MemoryStore(clock=clock), clock=clock, with_loops=True) as started:
        await pass_seconds(clock, 0.5)
        yield started


@pytest.fixture
def client(server):
    return server.core.loops.client


@pytest.fixture
def election(server, clock):
    return Election(server.core.loops.client, clock)


async def pass_seconds(clock, seconds):
    for _ in range(round(seconds * 10)):
        await clock.advance(0.1)


class Election:
    """What candidates of one Lease do."""

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

    async def told(self):
        found = await self.client.list(EVENTS, namespace="default")
        return [(event["type"], event["reason"]) for event in found if event["involvedObject"]["name"] == "lead"]


# -- what upstream does, too -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["v1beta1", "v1alpha2"])
async def test_a_fresh_candidate_leads_at_once_whatever_version_it_speaks(election, clock, version):
    await election.join("a", version=version)
    await pass_seconds(clock, 0.1)
    lease = await election.lease()
    assert (lease.holder, lease.strategy, lease.duration_seconds) == ("a", OURS, 5)
    await pass_seconds(clock, 0.5)
    assert await election.told() == [("Normal", "LeaderElected")]


async def test_a_better_candidate_takes_over_within_a_second_when_the_holder_lets_go(election, clock):
    """Upstream's planned hand-over leaves nobody in the lead for 8 to 17 seconds."""
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


async def test_a_lease_that_runs_out_makes_no_event_but_an_election_at_that_moment(election, clock):
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


async def test_no_stall_when_the_preferred_holder_is_gone_before_the_holder_noticed(election, clock, client):
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


async def test_no_stall_when_the_preferred_holder_is_gone_after_the_holder_let_go(election, clock):
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


async def test_a_step_that_fails_is_taken_again(election, clock, client, monkeypatch):
    create, failures = client.create, iter([True, True])

    async def fail_first(obj, **options):
        if obj["kind"] == "Lease" and next(failures, False):
            raise ServiceUnavailable({"code": 503, "message": "not now"})
        return await create(obj, **options)

    monkeypatch.setattr(client, "create", fail_first)
    await election.join("a")
    await pass_seconds(clock, 1)
    assert (await election.lease()).holder == "a"


async def test_one_candidate_that_cannot_be_asked_keeps_nobody_else_from_being_asked(
    election, clock, client, monkeypatch
):
    patch, asked = client.patch, []

    async def fail_for_a(what, name, body, **options):
        if "pingTime" in body["spec"]:
            asked.append(name)
            if name == "a" and asked.count("a") == 1:
                raise ServiceUnavailable({"code": 503, "message": "not now"})
        return await patch(what, name, body, **options)

    monkeypatch.setattr(client, "patch", fail_for_a)
    await asyncio.gather(*(election.join(name, age=60) for name in "abc"))
    await pass_seconds(clock, 0.5)
    assert sorted(set(asked)) == ["a", "b", "c"]
    assert "pingTime" in await election.candidate("b")
    await pass_seconds(clock, 1.2)
    assert "pingTime" in await election.candidate("a")


async def test_equal_candidates_do_not_take_turns(election, clock):
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


async def test_a_foreign_strategy_without_a_holder_is_left_alone_for_ever(election, clock, server):
    await election.join("a", strategy="example.com/mine")
    await pass_seconds(clock, 0.5)
    lease = await election.lease()
    assert (lease.holder, lease.strategy) == ("", "example.com/mine")
    await pass_seconds(clock, 30)
    assert (await election.lease()).resource_version == lease.resource_version


async def test_a_disagreement_on_the_strategy_is_told_whatever_the_order(election, clock):
    await election.join("b", strategy="example.com/mine")
    await election.join("a")
    await election.join("old", binary="1.35.0", emulation="1.35.0", strategy="example.com/other")
    await pass_seconds(clock, 1)
    assert ("Warning", "StrategyConflict") in await election.told()


async def test_when_nobody_answers_that_is_told_once(election, clock):
    await election.join("a")
    await pass_seconds(clock, 60)
    told = await election.told()
    assert told.count(("Warning", "NobodyAnswers")) == 1


async def test_candidates_that_are_no_more_valid_are_removed_within_an_hour_or_so(election, clock, client):
    await election.join("a")
    for _ in range(400):
        await clock.advance(10)
    with pytest.raises(NotFound):
        await election.candidate("a")


async def test_two_servers_hold_one_election(election, clock, server):
    """Both take steps; whoever is late writes nothing."""
    second = running_loops.RunningLoops(server.core.loops)

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


async def test_who_does_not_want_elections_has_none(clock):
    options = APIServerOptions(ephemeral=True, feature_gates={"CoordinatedLeaderElection": False})
    store = MemoryStore(clock=clock)
    async with InProcessAPIServer(options=options, store=store, clock=clock, with_loops=True) as server:
        election = Election(server.core.loops.client, clock)
        await election.join("a")
        await pass_seconds(clock, 2)
        with pytest.raises(NotFound):
            await election.lease()


async def test_metrics_say_why(election, clock, server):
    await election.join("a")
    await pass_seconds(clock, 0.5)
    text = (await server.request("GET", "/metrics")).body.decode()
    assert 'steersman_election_decisions_total{reason="LeaderElected"} 1' in text.splitlines()
    assert 'steersman_election_leader_changes_total{namespace="default",name="lead"} 1' in text.splitlines()


async def test_what_people_are_shown(election, clock, client):
    await election.join("a")
    await pass_seconds(clock, 1)
    await election.join("better", "1.35.0", binary="1.37.0")
    leases, candidates = await client.list(LEASES), await client.list(CANDIDATES)
    assert show_elections(leases, candidates, now=clock.now()) == (
        "default/lead: a leads for 4 s more (OldestEmulationVersion)\n"
        "  CANDIDATE  EMULATION  BINARY  STRATEGY                RENEWED  STATE    ROLE\n"
        "  a          1.36.0     1.36.0  OldestEmulationVersion  1 s ago  answers  leader\n"
        "  better     1.35.0     1.37.0  OldestEmulationVersion  0 s ago  answers  -\n"
        "  next: ask the holder to leave it to better, look again in 4.0 s\n"
        "  why:  PreferredHolderMarked: better is better than a, who holds it\n"
    )
    assert show_elections(leases, [], now=clock.now()) == "no candidates, so no elections\n"
    assert "make the Lease, with better as its holder" in show_elections([], candidates, now=clock.now())
