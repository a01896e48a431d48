"""Table of the flags of kube-scheduler; ``test_upstream_flags`` compares it with upstream's."""

from __future__ import annotations

import pytest

from steersman.cli import components
from steersman.cli.scheduler_flags import SCHEDULER_FLAGS
from steersman.scheduler.options import SchedulerOptions


def test_every_option_has_one_flag():
    targets = [flag.target for rows in SCHEDULER_FLAGS.values() for flag in rows]
    assert len(targets) == len(set(targets))
    assert set(SchedulerOptions.__struct_fields__) <= set(targets)


@pytest.mark.parametrize(
    ("flag", "reason"),
    [
        ("--write-config-to=/x", "writing the configuration to a file is not supported"),
        ("--feature-gates=NoSuchGate=true", "unrecognized feature gate: NoSuchGate"),
        ("--leader-elect-resource-lock=endpoints", '"endpoints" is not supported, expected leases'),
    ],
)
def test_flags_that_cannot_be_used_are_refused(flag, reason, capsys):
    with pytest.raises(SystemExit):
        components.run("scheduler", [flag])
    assert reason in capsys.readouterr().err


def test_coordinated_election_without_effect_is_reported():
    assert components._scheduler_gates({"CoordinatedLeaderElection": True}) == [
        "feature gate CoordinatedLeaderElection=true has no effect: the scheduler elects by its Lease"
    ]
    assert components._scheduler_gates({"CoordinatedLeaderElection": False}) == []
