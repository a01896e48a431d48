"""Random histories: after the faults stop, every feasible pod is bound and no node is overcommitted."""

from __future__ import annotations

from tests.conformance.histories import play_scenario
from tests.conformance.scheduler.scenario import Scheduling


def test_scheduler_binds_every_feasible_pod(tmp_path):
    play_scenario(Scheduling, tmp_path, seeds=range(5), scheduler=True)
