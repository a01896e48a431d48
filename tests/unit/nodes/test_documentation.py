"""The examples and tables of docs/nodes.md and docs/stages.md."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml
from tests.unit.nodes.simulation.simulated import Simulation, pod

from steersman.nodes.chaos.format import FAILURES, read_rules
from steersman.nodes.chaos.rules import Chaos
from steersman.nodes.kwok.stage_files import read_stage
from steersman.nodes.kwok.usage_pages import read_usage
from steersman.nodes.simulation import behavior
from steersman.nodes.simulation.images import ABSENT_NAMES
from steersman.nodes.simulation.programs import program_of

DOCS = Path(__file__).parents[3] / "docs"
NODES, STAGES = (DOCS / name for name in ("nodes.md", "stages.md"))


def examples(page: Path) -> list[Any]:
    return [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", page.read_text(), re.DOTALL)]


def first_column(page: Path, heading: str) -> list[str]:
    """Return the names in the first column of the first table after a heading."""
    text = page.read_text().partition(f"\n### {heading}\n")[2].partition("\n#")[0]
    return re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)


def test_annotations_are_documented() -> None:
    names = {value for name, value in vars(behavior).items() if name.isupper() and isinstance(value, str)}
    listed = first_column(NODES, "Failures on demand")
    assert names - {behavior.PREFIX} <= set(listed)
    assert len(listed) == len(set(listed))


def test_failures_of_chaos_rules_are_documented_with_their_fields() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| [^|]+ \| (.*) \|$", NODES.read_text(), re.MULTILINE)
    documented = {name: tuple(re.findall("`(.*?)`", fields)) for name, fields in rows if name in FAILURES}
    assert documented == FAILURES


def test_absent_image_names_are_documented() -> None:
    assert all(f"`{name}`" in NODES.read_text() for name in ABSENT_NAMES)


def test_pod_example_starts_late_and_is_restarted_by_its_liveness_probe() -> None:
    (example,) = [example for example in examples(NODES) if example.get("kind") == "Pod"]
    new_pod = pod(**example["spec"])
    new_pod["metadata"]["annotations"] = example["metadata"]["annotations"]
    seen = [(at, state) for at, _, state in Simulation(new_pod).run(330)]
    assert seen == [(0, "Running"), (20, "Ready"), (300, "Running"), (320, "Error"), (320, "Running")]


def test_chaos_example_is_valid() -> None:
    (example,) = [example for example in examples(NODES) if "rules" in example]
    chaos = Chaos(*read_rules(example))
    canary = pod(container={"image": "web:canary"})
    notes = chaos.with_annotations(canary, {"metadata": {"name": "node-0"}})["metadata"]["annotations"]
    assert notes == {f"{behavior.IMAGE_PULL_ERROR}.c": "true", f"{behavior.IMAGE_PULL_ERROR_SECONDS}.c": "45.0"}


def test_command_example_is_understood() -> None:
    command, output = re.findall(r"\$ kubectl run .* -- (.*)\n(.*)\n", NODES.read_text())[0]
    program = program_of({"args": command.split()})
    assert program is not None
    assert program.output == ((0, f"{output}\n"),)


@pytest.mark.parametrize("example", examples(STAGES), ids=lambda item: item["kind"])
def test_stage_examples_are_valid(example: Any) -> None:
    if example["kind"] == "Stage":
        assert read_stage(example) is not None
    else:
        assert read_usage([example], dice=Random(1)).usages is not None
