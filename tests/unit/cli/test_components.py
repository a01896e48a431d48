from __future__ import annotations

from pathlib import Path

import pytest

from steersman.cli import components
from steersman.cli.flags import component_flags, parser
from steersman.cli.option_flags import explicit_options
from steersman.controllers.manager.options import ManagerOptions
from steersman.controlplane.options import OptionError
from steersman.nodes.options import NodesOptions
from steersman.scheduler.options import SchedulerOptions


def test_component_commands_have_the_flags_of_their_components() -> None:
    nodes = components.parser("nodes").parse_args(["--nodes=3", "--stages=never-end"])
    assert NodesOptions(**explicit_options(NodesOptions, nodes)) == NodesOptions(nodes=3, stages="never-end")
    scheduler = components.parser("scheduler").parse_args(["--scheduler-name=mine", "--leader-elect=false"])
    scheduler_options = SchedulerOptions(**explicit_options(SchedulerOptions, scheduler))
    assert (scheduler_options.scheduler_name, scheduler_options.leader_elect) == ("mine", False)
    both = components.parser("components").parse_args(["--kubeconfig=/k", "--controllers=job,ttl", "--port=0"])
    assert explicit_options(ManagerOptions, both)["controllers"] == ("job", "ttl")
    assert (
        explicit_options(NodesOptions, both)["kubeconfig"]
        == explicit_options(SchedulerOptions, both)["kubeconfig"]
        == Path("/k")
    )


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["--stages=x"], '--stages: "x" is neither a file'),
        (["--node-template=/nowhere"], "--node-template: cannot read /nowhere"),
        (["--chaos=/nowhere"], "--chaos: cannot read /nowhere"),
        (["--nodes=-1"], "--nodes"),
    ],
)
def test_component_commands_reject_invalid_flags(
    arguments: list[str], fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        components.run("nodes", arguments)
    assert fault in capsys.readouterr().err


def test_scheduler_rejects_an_invalid_configuration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "scheduler.yaml"
    path.write_text("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nfoo: 1\n")
    with pytest.raises(SystemExit):
        components.run("scheduler", [f"--config={path}"])
    assert f'--config: {path}: strict decoding error: unknown field "foo"' in capsys.readouterr().err


def test_up_rejects_invalid_component_flags() -> None:
    parsed = parser("up").parse_args(["--stages=x"])
    with pytest.raises(OptionError, match='--stages: "x" is neither a file nor one of default, never-end'):
        component_flags(parsed)


def test_up_passes_a_valid_chaos_file_on_and_rejects_another(tmp_path: Path) -> None:
    file = tmp_path / "chaos.yaml"
    file.write_text("rules: [{failure: crash, every: 10m}]")
    parsed = parser("up").parse_args([f"--chaos={file}"])
    assert component_flags(parsed) == [f"--chaos={file}"]
    file.write_text("rules: [{failure: crash, evry: 10m}]")
    with pytest.raises(OptionError, match=r"chaos.yaml: .*unknown field `evry` - at `\$.rules\[0\]`"):
        component_flags(parsed)
