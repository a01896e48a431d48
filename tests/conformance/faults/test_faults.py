"""A whole control plane whose requests fail: workloads converge soon after the faults stop, and rollouts keep limits."""

from __future__ import annotations

from tests.conformance.faults.campaign import AMBIGUOUS, COMPONENTS, REFUSALS, play

from steersman.testing.simulation import simulate


@simulate(seeds=[1], faults=REFUSALS, **COMPONENTS)
async def test_workloads_converge_and_rollout_limits_hold_when_requests_are_refused(simulation):
    await play(simulation, are_limits_checked=True)
    faults = {name.partition(":")[0] for name in simulation.plan.injected}
    assert faults >= {"429", "500", "409", "reset", "cut"}


@simulate(seeds=[1], faults=[*REFUSALS, *AMBIGUOUS], **COMPONENTS)
async def test_workloads_converge_when_answers_are_lost_and_requests_duplicated(simulation):
    await play(simulation, are_limits_checked=False)
