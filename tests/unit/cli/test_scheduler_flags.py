"""Table of the flags of kube-scheduler; ``test_upstream_flags`` compares it with upstream's."""

from __future__ import annotations

import pytest

from steersman.cli import components
from steersman.cli.scheduler_flags import SCHEDULER_FLAGS
from steersman.scheduler.options import SchedulerOptions, set_up


def test_options_have_one_flag_each():
    targets = [flag.target for rows in SCHEDULER_FLAGS.values() for flag in rows]
    assert len(targets) == len(set(targets))
    assert set(SchedulerOptions.__struct_fields__) <= set(targets)


@pytest.mark.parametrize(
    ("flag", "reason"),
    [
        ("--write-config-to=/dev/null/x", "--write-config-to: /dev/null/x: "),
        ("--feature-gates=NoSuchGate=true", "unrecognized feature gate: NoSuchGate"),
        ("--leader-elect-resource-lock=endpoints", '"endpoints" is not supported, expected leases'),
    ],
)
def test_flags_that_cannot_be_used_are_refused(flag, reason, capsys):
    with pytest.raises(SystemExit):
        components.run("scheduler", [flag])
    assert reason in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "coordinated"),
    [
        ([], False),
        (["--feature-gates=CoordinatedLeaderElection=true"], True),
        (["--coordinated-leader-election"], True),
        (["--feature-gates=CoordinatedLeaderElection=true", "--coordinated-leader-election=false"], False),
    ],
)
def test_scheduler_takes_part_in_coordinated_elections_by_feature_gate_or_flag(flags, coordinated, monkeypatch):
    started = []
    monkeypatch.setattr(components, "run_scheduler", lambda setup, **_: started.append(setup.options))
    monkeypatch.setattr(components, "run_process", lambda *_, **__: 0)
    assert components.run("scheduler", flags) == 0
    assert started[0].coordinated_leader_election is coordinated


def test_emulated_version_out_of_range_is_rejected(capsys):
    with pytest.raises(SystemExit):
        components.run("scheduler", ["--emulated-version=kube=1.30"])
    assert "--emulated-version: emulation version 1.30 is not between [1.33, 1.36" in capsys.readouterr().err


def test_write_config_to_writes_the_configuration_in_effect_and_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(components, "run_process", lambda *_, **__: pytest.fail("it runs"))
    path = tmp_path / "written.yaml"
    flags = ["--scheduler-name=mine", "--leader-elect-lease-duration=20s", f"--write-config-to={path}"]
    assert components.run("scheduler", flags) == 0
    assert path.stat().st_mode & 0o777 == 0o600
    written = set_up(config=path)
    assert [profile.scheduler_name for profile in written.settings.profiles] == ["mine"]
    assert written.options.leader_elect_lease_duration_seconds == 20
