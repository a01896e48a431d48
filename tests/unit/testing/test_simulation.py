"""Deterministic simulation."""

import asyncio
import os
import subprocess
import sys
from random import Random

import pytest

from steersman.client import tree
from steersman.client.errors import ClientError
from steersman.client.objects import labels_of
from steersman.runtime.controller import Controller
from steersman.runtime.manager import Manager
from steersman.testing.fault_plan import DEFAULT_FAULTS, WATCH_FAULTS
from steersman.testing.simulation import SEED_VARIABLE, Simulation, SimulationError, run_in_new_loop, simulate

MAPS, DEPLOYMENTS, PODS = tree("v1", "ConfigMap"), tree("apps/v1", "Deployment"), tree("v1", "Pod")
ALONE = {"nodes": 0, "controllers": [], "scheduler": False}


def deployment(name, replicas):
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


class Pool(Controller):
    """Keeps as many ConfigMaps with the label ``pool`` as the ConfigMap ``size`` demands."""

    name = "pool"
    #: Creates again without a look at what exists after an error.
    ignores_lost_answers = False

    def __init__(self, context):
        super().__init__(context)
        self._maps = self.watch(MAPS, keys=lambda _: ["pool"], namespace="default")

    async def reconcile(self, key):
        size = self._maps.lister.by_key("default/size")
        members = [obj for obj in self._maps.lister if "pool" in labels_of(obj)]
        for number in range(len(members), int(size["data"]["size"]) if size else 0):
            await self._create(number)

    async def _create(self, number):
        metadata = {"namespace": "default", "labels": {"pool": ""}}
        if not self.ignores_lost_answers:
            member = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {**metadata, "name": f"member-{number}"}}
            created = await self.client.create(member)
        else:
            member = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {**metadata, "generateName": "member-"}}
            try:
                created = await self.client.create(member)
            except ClientError:
                created = await self.client.create(member)
        self.own_writes.note("pool", self._maps, created)


class CarelessPool(Pool):
    ignores_lost_answers = True


async def grow_pool(simulation, controller):
    await simulation.run_controller(controller)
    size = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "size", "namespace": "default"}}
    await simulation.client().create({**size, "data": {"size": "8"}})
    await simulation.clock.advance(60)
    await simulation.heal()
    await simulation.clock.advance(minutes=5)
    members = await simulation.client().list(MAPS, namespace="default", label_selector="pool")
    assert len(members) == 8, f"{len(members)} members"


async def roll_out(simulation):
    await simulation.client().create(deployment("web", simulation.dice.randint(2, 4)))
    await simulation.clock.advance(20)
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "j"}]}}}}
    await simulation.client().patch(DEPLOYMENTS, "web", patch, namespace="default")
    await simulation.clock.advance(10)
    await simulation.restart_components(crash=True)
    await simulation.client().delete(DEPLOYMENTS, "web", namespace="default")
    await simulation.heal()
    await simulation.clock.advance(60)
    assert await simulation.client().list(PODS) == []


def digest_of(seed):
    async def run():
        simulation = Simulation(seed, faults=DEFAULT_FAULTS)
        await simulation.start()
        await roll_out(simulation)
        await simulation.stop()
        return simulation.digest()

    return run_in_new_loop(run())


def test_same_seed_gives_the_same_history_in_two_processes():
    code = "from tests.unit.testing.test_simulation import digest_of; print(digest_of(5))"
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert digests == {digest_of(5)}
    assert digest_of(6) not in digests


@simulate(seeds=range(3))
async def test_rollout_survives_faults(simulation):
    await roll_out(simulation)


@simulate(seeds=range(10), **ALONE)
async def test_careful_controller_survives_faults(simulation):
    await grow_pool(simulation, Pool)


def test_planted_bug_is_found_within_50_seeds_and_reduced():
    @simulate(seeds=range(50), **ALONE)
    async def careless(simulation):
        await grow_pool(simulation, CarelessPool)

    with pytest.raises(SimulationError) as failure:
        careless()
    text = str(failure.value)
    assert "9 members" in text
    assert f"{SEED_VARIABLE}=" in text
    assert text.splitlines()[-2].startswith("the fewest of ")
    assert text.splitlines()[-1].startswith("  lose-answer: create configmaps by test-controller #")


def test_failure_without_faults_is_reported_as_such():
    @simulate(seeds=[3], faults=[], **ALONE)
    async def broken(simulation):
        raise RuntimeError("always")

    with pytest.raises(SimulationError, match=r"seed 3 fails: always\n(.|\n)*it fails without any fault"):
        broken()


@pytest.mark.parametrize(("text", "expected"), [("17", [17]), ("17-19", [17, 18, 19])])
def test_seed_variable_selects_the_seeds(monkeypatch, text, expected):
    seeds = []

    @simulate(seeds=range(5), **ALONE)
    async def note(simulation):
        seeds.append(simulation.seed)

    monkeypatch.setenv(SEED_VARIABLE, text)
    note()
    assert seeds == expected


@pytest.mark.parametrize("text", ["", "all", "-3", "3-x"])
def test_bad_seed_variable_is_an_error(monkeypatch, text):
    monkeypatch.setenv(SEED_VARIABLE, text)
    with pytest.raises(ValueError, match=f"{SEED_VARIABLE}={text}: expected a seed"):
        simulate(**ALONE)(grow_pool)()


def test_failure_is_reduced_to_the_fewest_steps():
    @simulate(seeds=[1], faults=[], **ALONE)
    async def broken(simulation):
        drawn = {number: simulation.dice.random() for number in simulation.steps(6)}
        if {2, 4} <= drawn.keys():
            raise RuntimeError(f"{drawn[2]} {drawn[4]}")

    with pytest.raises(SimulationError) as failure:
        broken()
    headline, _, *fewest = str(failure.value).splitlines()
    assert fewest == ["the fewest of 6 faults and steps that make it fail:", "  step 2", "  step 4"]
    dice = [str(Random(f"1 step {number}").random()) for number in (2, 4)]
    assert headline == f"seed 1 fails: {' '.join(dice)}"


def test_failure_of_the_components_is_one_of_the_seed():
    @simulate(seeds=[1], faults=[], nodes=0, scheduler=False, controllers=["job-controller"])
    async def broken(simulation):
        def fail(*_, **__):
            raise RuntimeError("the manager is broken")

        monkeypatch = pytest.MonkeyPatch()
        with monkeypatch.context() as patch:
            patch.setattr(Manager, "_work", fail)
            await simulation.restart_components()
            await simulation.settle()

    with pytest.raises(SimulationError, match="seed 1 fails: the manager is broken"):
        broken()


@pytest.mark.parametrize("kind", WATCH_FAULTS)
def test_controller_survives_faults_of_its_watches(kind):
    @simulate(seeds=[1], faults=[{kind: True, "probability": 0.5}], **ALONE)
    async def watched(simulation):
        await grow_pool(simulation, Pool)
        assert any(kind.startswith(name.partition(":")[0]) for name in simulation.plan.injected)

    watched()


@pytest.mark.parametrize("number", [1, 2])
@simulate(seeds=[1], **ALONE)
async def test_simulated_test_has_fixtures_and_parameters(simulation, number, tmp_path):
    assert number in (1, 2)
    assert tmp_path.exists()


def test_delays_vary_with_the_seed():
    async def times(seed):
        simulation = Simulation(seed, **ALONE)
        await simulation.start()
        await simulation.run_controller(Pool)
        await simulation.stop()
        return simulation.clock.monotonic()

    assert run_in_new_loop(times(1)) == run_in_new_loop(times(1)) != run_in_new_loop(times(2))


def test_simulation_leaves_no_task():
    async def run():
        simulation = Simulation(1, **ALONE)
        await simulation.start()
        await simulation.stop()
        return len(asyncio.all_tasks())

    assert run_in_new_loop(run()) == 1
