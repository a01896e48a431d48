"""Random faults by seed and occurrence, and their reduction."""

import asyncio

import pytest

from steersman.apiserver.filters.request_info import parse, refine
from steersman.testing.fault_plan import WATCH_FAULTS, FaultPlan, reduce_faults
from steersman.testing.faults import FaultError

CREATE = parse("POST", "/api/v1/namespaces/default/pods")
WATCH = refine(parse("GET", "/api/v1/pods"), b"watch=1")
AGENT = "kube-controller-manager/v1 steersman/1/job-controller"
HALF = [{"respond": 500, "probability": 0.5}]


def hits(plan, count=40):
    return [plan.select(CREATE, AGENT) is not None for _ in range(count)]


def test_seed_decides_which_occurrences_fail():
    assert hits(FaultPlan(1, HALF)) == hits(FaultPlan(1, HALF)) != hits(FaultPlan(2, HALF))
    assert 10 < sum(hits(FaultPlan(1, HALF))) < 30


def test_occurrence_does_not_depend_on_other_requests():
    plan = FaultPlan(1, HALF)
    for _ in range(7):
        plan.select(WATCH, "kubelet/1")
    assert hits(plan) == hits(FaultPlan(1, HALF))


def test_injected_faults_have_names_that_select_them():
    plan = FaultPlan(1, HALF)
    expected = hits(plan)
    assert plan.injected[0].startswith("500: create pods by kube-controller-manager/job-controller #")
    assert hits(FaultPlan(1, HALF, only=plan.injected)) == expected
    assert sum(hits(FaultPlan(1, HALF, only=plan.injected[:1]))) == 1
    assert sum(hits(FaultPlan(1, HALF, only=[]))) == 0


def test_healed_plan_injects_nothing():
    plan = FaultPlan(1, [{"respond": 500}])
    plan.heal()
    assert not any(hits(plan))


@pytest.mark.parametrize("kind", WATCH_FAULTS)
def test_watch_faults_are_for_watches_alone(kind):
    plan = FaultPlan(1, [{kind: True, "resource": "pods"}])
    fault = plan.watch_fault(WATCH, AGENT)
    assert fault.kind == kind
    assert 0 <= fault.part < 1
    assert plan.select(CREATE, AGENT) is None
    effect = kind.partition("_")[0]
    assert plan.injected == [f"{effect}: piece of the watch of pods by kube-controller-manager/job-controller #1"]


def test_connections_of_watches_break_between_and_within_pieces():
    plan = FaultPlan(1, [{"cut_watches": True}])
    parts = [plan.watch_fault(WATCH, AGENT).part for _ in range(40)]
    assert 10 < parts.count(0) < 30


def test_steps_are_left_out_as_faults_are():
    plan = FaultPlan(1, HALF)
    assert [number for number in range(3) if plan.takes_step(number)] == [0, 1, 2]
    assert plan.injected == ["step 0", "step 1", "step 2"]
    fewer = FaultPlan(1, HALF, only=["step 1"])
    assert [number for number in range(3) if fewer.takes_step(number)] == [1]


def test_bad_faults_are_errors():
    with pytest.raises(FaultError, match='unknown field "chance"'):
        FaultPlan(1, [{"respond": 500, "chance": 1}])
    with pytest.raises(FaultError, match="respond: a fault of cut_watches has no response"):
        FaultPlan(1, [{"cut_watches": True, "respond": 500}])


@pytest.mark.parametrize("needed", [{"a"}, {"c", "g"}, {"a", "d", "h"}, set()])
async def test_reduction_finds_the_fewest_faults(needed):
    runs = []

    async def fails(subset):
        runs.append(subset)
        return needed <= set(subset)

    assert set(await reduce_faults("abcdefgh", fails)) == needed
    assert len(runs) < 60


async def test_reduction_is_bounded():
    runs = []

    async def fails(subset):
        runs.append(subset)
        await asyncio.sleep(0)  # noqa: TID251 — a pass of the loop
        return len(subset) > 30

    result = await reduce_faults([str(number) for number in range(64)], fails, runs_max=10)
    assert len(runs) <= 11
    assert 30 < len(result) <= 64
