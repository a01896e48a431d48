"""A whole control plane whose requests fail: workloads converge soon after the faults stop, and rollouts keep limits."""

from __future__ import annotations

import pytest
from tests.conformance.faults.harness import play


@pytest.mark.parametrize("seed", range(2))
async def test_workloads_converge_and_rollout_limits_hold_when_requests_are_refused(seed):
    await play(seed, ambiguous=False)


@pytest.mark.parametrize("seed", range(2))
async def test_workloads_converge_when_answers_are_lost_and_requests_duplicated(seed):
    await play(seed, ambiguous=True)
